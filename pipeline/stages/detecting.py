"""A receiver's detectors at its cuts, fitted."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Activations, Sender
from pipeline.atomic import digest
from pipeline.detectors import DETECTORS
from pipeline.detectors.base import OUTSIDE, Data, Detector, Fitted, Loss, Setting
from pipeline.devices import choose
from pipeline.errors import ParamsError
from pipeline.imports import closure, code_digest
from pipeline.mixing import Mixed
from pipeline.networks import read_plan
from pipeline.params import Labelling, Params
from pipeline.randomness import seed_for
from pipeline.reading import batches_of
from pipeline.registry import build, module_of
from pipeline.relabelling import relabelled
from pipeline.stages.cells import kept, own_activations, receiving
from pipeline.training import fit
from pipeline.weights import read, save_tensors


@dataclass(frozen=True)
class Watch:
    """Of one receiver. What is trained is kept in scratch under all that decides it, until its stage ends."""

    params: Params
    receiver: str
    seed: int
    folder: Path  # of what trained ones have learnt

    @cached_property
    def detectors(self) -> dict[str, Detector]:
        return {
            name: build(f"detectors.{name}", DETECTORS, name, options)
            for name, options in self.params.detectors.items()
        }

    @cached_property
    def own(self) -> Sender:
        """What the receiver has at its cuts, of its own data."""
        return self._of(self.params.stitch.towards)

    def fitted(self, cut: str, name: str) -> Fitted:
        """Anew, or from what it has learnt."""
        detector, setting = self.detectors[name], self._setting(cut, name)
        if detector.trained:
            return detector.load(setting, read(self.folder / file_of(name, cut)))
        return self._fit(name, detector, setting)

    def train(self, cut: str, name: str) -> Path:
        """The file of what a detector has learnt, from an earlier attempt if there is one."""
        path = paths.scratch("detect", self._key(cut, name)) / file_of(name, cut)
        if not path.exists():
            setting = self._setting(cut, name)
            save_tensors(self._fit(name, self.detectors[name], setting).state(), path)
        return path

    def inside(self, cut: str) -> Activations:
        """The receiver's own, held out, of the classes that are stitched."""
        stitch = self.params.stitch
        classes = stitch.labels.classes if stitch.data == stitch.towards else None
        return relabelled(self.own, Labelling(classes, 0, None), 0).rows("test", cut)

    def outside(self, cut: str) -> Activations | None:
        """Auxiliary ones, held out, if they are of other data."""
        if self.params.detection.auxiliary == self.params.stitch.towards:
            return None
        return self._of(self.params.detection.auxiliary).rows("test", cut)

    def _of(self, data: str) -> Sender:
        return own_activations(self.receiver, self.seed, data, kept(self.params.stitch.receiver_bn))

    def _fit(self, name: str, detector: Detector, setting: Setting) -> Fitted:
        try:
            return detector.fit(setting)
        except ValueError as error:
            raise ParamsError(f"detectors.{name}.{error}") from error

    def _setting(self, cut: str, name: str) -> Setting:
        device, stitch = choose(self.params.machine.device), self.params.stitch
        model = receiving(self.receiver, self.seed, stitch.towards, stitch.receiver_bn)
        return Setting(
            rows=self.own.rows("train", cut),
            labels=self.own.labels("train"),
            classes=read_plan(self.receiver).classes,
            tail=model.tail(model.cut(cut)).requires_grad_(False).to(device),
            device=device,
            memory=self._memory,
            seed=seed_for(self.params.seed, "detector", name, self.receiver, self.seed, cut),
            descend=self._descend(cut, name, device),
        )

    @property
    def _memory(self) -> int:
        return int(self.params.machine.memory_gb * 1e9 / 2)

    def _descend(self, cut: str, name: str, device: torch.device) -> Callable[[nn.Module, Loss, Data, str], None]:
        def descend(module: nn.Module, loss: Loss, data: Data, recipe: str) -> None:
            own = batches_of(self.own.rows("train", cut), self.own.labels("train"), self._memory, device)
            feed = own
            if data == "mixed":
                others = self._of(self.params.detection.auxiliary).rows("train", cut)
                feed = Mixed(own, batches_of(others, np.full(others.shape[0], OUTSIDE), self._memory, device))
            seed = seed_for(self.params.seed, "detecting", name, self.receiver, self.seed, cut, data)
            fit(module, loss, feed, self.params.recipes[recipe], seed, f"{name} at {cut}, {data}")

        return descend

    def _key(self, cut: str, name: str) -> str:
        detector = self.detectors[name]
        auxiliary = self._of(self.params.detection.auxiliary).digest if detector.auxiliary else ""
        recipes = [asdict(self.params.recipes[recipe]) for recipe in detector.recipes]
        code = code_digest(closure(__name__, module_of(DETECTORS, name)))
        return digest(
            self.own.digest, auxiliary, cut, name, self.params.detectors[name], recipes, self.params.seed, code
        )


def file_of(name: str, cut: str) -> str:
    return f"{name}--{cut}.safetensors"
