"""A study's params → what it will take: bytes of stores, and arithmetic as hours on one device.

Counted are the multiplications of networks, tails, stitches, detectors and closed forms; reading, probes,
similarities, ranks and starting processes are not. A step backwards counts as one forward for what only passes
gradients on, and as two for what learns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from pipeline import paths
from pipeline.arrays import Held, Labels, Shape
from pipeline.chunking import bill
from pipeline.controls import CONTROLS
from pipeline.controls.base import Control
from pipeline.cutting import INPUT, Cut, Cuttable
from pipeline.datasets import DATASETS
from pipeline.datasets.base import SPLITS, Dataset
from pipeline.detectors import DETECTORS
from pipeline.detectors.base import Detector, Setting
from pipeline.models import ARCHITECTURES
from pipeline.norms import norms
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Objective
from pipeline.params import Params
from pipeline.prepared import read_prepared
from pipeline.registry import build, build_kind
from pipeline.stages.extract import modes
from pipeline.stitches import STITCHES
from pipeline.stitches.base import Stitch
from pipeline.stitches.places import features
from pipeline.weights import initialise

LEARNING, PASSING = 3, 2  # passes a step: there, back, and for what learns back again to its weights


@dataclass(frozen=True)
class Item:
    """A stage's share: how many of what it makes, the bytes of these, and their multiplications."""

    stage: str
    count: int
    of: str
    bytes: int = 0
    work: float = 0.0

    def __add__(self, other: "Item") -> "Item":
        return replace(
            self, count=self.count + other.count, bytes=self.bytes + other.bytes, work=self.work + other.work
        )


def table(params: Params, rate: float) -> Iterator[str]:
    """A line a stage, and one of all; `rate` is multiplications a second, in 10^12."""
    found = items(params)
    whole = replace(sum(found[1:], found[0]), stage="all", of="")
    yield f"{'':8}  {'makes':>18}  {'GB':>9}  {'10^12 products':>14}  {'hours':>8}"
    for item in (*found, whole):
        makes = f"{item.count:,} {item.of}" if item.of else ""
        size = f"{item.bytes / 1e9:,.2f}" if item.bytes else ""
        hours = item.work / (rate * 1e12) / 3600
        yield f"{item.stage:8}  {makes:>18}  {size:>9}  {item.work / 1e12:>14,.1f}  {hours:>8,.2f}".rstrip()
    yield f"hours of one device that does {rate:g} · 10^12 multiplications a second; --rate names another"


def items(params: Params) -> list[Item]:
    """Of each stage that computes much."""
    there = _Parts(params)
    return [_train(params, there), _extract(params, there), *_stitches(params, there), _detect(params, there)]


@dataclass(frozen=True)
class _Parts:
    """Networks and datasets of a study, each built once."""

    params: Params

    @cached_property
    def datasets(self) -> dict[str, Dataset]:
        return {n: build_kind(f"datasets.{n}", DATASETS, entry) for n, entry in self.params.datasets.items()}

    @cached_property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Images to train and to test."""
        return {name: (len(train), len(test)) for name, (train, test) in self._labels.items()}

    @cached_property
    def stitched(self) -> tuple[int, int]:
        """Those that stitches are made and tested with: of the first so many classes."""
        train, test = self._labels[self.params.stitch.data]
        classes = self.params.stitch.labels.classes
        return (
            (len(train), len(test)) if classes is None else (int((train < classes).sum()), int((test < classes).sum()))
        )

    @cached_property
    def _labels(self) -> dict[str, tuple[Labels, Labels]]:
        return {name: self._found(name) for name in self.datasets}

    def _found(self, name: str) -> tuple[Labels, Labels]:
        """By the raw files, since params may have changed after the dataset was prepared; it may be pulled without."""
        root = paths.data_root(self.params.root, self.params.data.root)
        if paths.dataset(name).exists() and any(self.datasets[name].missing(root)):
            splits = read_prepared(paths.dataset(name)).splits
            return splits["train"].labels, splits["test"].labels
        train, test = (self.datasets[name].load(root, split, self.params.seed).labels for split in SPLITS)
        return train, test

    @cached_property
    def _stitches(self) -> dict[tuple[Shape, Shape], tuple[float, int]]:
        return {}

    def stitch(self, source: Shape, target: Shape) -> tuple[float, int]:
        """Multiplications of a sample, and the features that its core sees at a place."""
        if (source, target) not in self._stitches:
            name = self.params.stitch.map
            variant: Stitch = build(f"stitches.{name}", STITCHES, name, self.params.stitches[name])
            stitch = variant.build(source, target)
            self._stitches[source, target] = products(stitch, source), features(stitch.before_shape())
        return self._stitches[source, target]

    @cached_property
    def _networks(self) -> dict[Any, "_Network"]:
        return {}

    def network(self, model: str, data: str) -> "_Network":
        """As it meets the images of `data`."""
        entry = self.params.models[model]
        root = paths.data_root(self.params.root, self.params.data.root)
        classes, shape = len(self.datasets[entry.dataset].classes(root)), self.datasets[data].shape()
        facts = (entry.architecture, shape, classes)
        if facts not in self._networks:
            where = f"architectures.{entry.architecture}"
            architecture = build_kind(where, ARCHITECTURES, self.params.architectures[entry.architecture])
            cuttable = Cuttable(initialise(architecture, shape, classes, 0), shape)
            self._networks[facts] = _Network(
                cuttable, cuttable.select("extract.cuts", self.params.extract.cuts), classes
            )
        return self._networks[facts]


class _Network:
    def __init__(self, model: Cuttable, cuts: tuple[Cut, ...], classes: int) -> None:
        self.cuts, self.classes, self._model, self._tails = cuts, classes, model, dict[str, float]()

    def tail(self, cut: str) -> float:
        """Multiplications of a sample from the cut on; of the whole network from `input` on."""
        if cut not in self._tails:
            at = self._model.cut(cut)
            self._tails[cut] = products(self._model.tail(at), at.shape)
        return self._tails[cut]

    def front(self, cut: str) -> float:
        return self.tail(INPUT) - self.tail(cut)

    @property
    def normalised(self) -> bool:
        """Whether it has BatchNorms, which are recalibrated."""
        return bool(norms(self._model.tail(self._model.cut(INPUT))))

    def cut(self, name: str) -> Cut:
        return self._model.cut(name)


def products(module: nn.Module, shape: Shape) -> float:
    """Multiplications of one sample's forward pass."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # one call for all of an attention, which is not counted
    try:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module.eval()(torch.zeros(1, *shape))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops() / 2


def _train(params: Params, there: _Parts) -> Item:
    work, count = 0.0, 0
    for name, model in params.models.items():
        if model.weights == "trained":
            epochs, (images, _) = params.recipes[model.recipe].epochs, there.counts[model.dataset]
            work += LEARNING * epochs * images * there.network(name, model.dataset).tail(INPUT)
            count += 1
    return Item("train", count * len(params.seeds), "networks", work=work * len(params.seeds))


def _extract(params: Params, there: _Parts) -> Item:
    """Where there are BatchNorms, once more over the training images for their statistics, and tested with these."""
    size, work, stores = 0, 0.0, len(modes(params.stitch))
    number = 4 if params.extract.dtype == "float32" else 2
    for name, data in product(params.models, params.extract.datasets):
        network, (train, test) = there.network(name, data), there.counts[data]
        again = network.normalised * (train + test * (stores == 1))
        work += (again + stores * (train + test)) * network.tail(INPUT)
        arrays = product(network.cuts, (train, test))
        size += stores * sum(bill(params.extract.layout, n, number * cut.size, 1).bytes for cut, n in arrays)
    count = len(params.models) * len(params.extract.datasets) * len(params.seeds)
    return Item("extract", count, "stores", size * len(params.seeds), work * len(params.seeds))


def _stitches(params: Params, there: _Parts) -> Iterator[Item]:
    """Of senders, and of controls at cuts of one name."""
    work, count = 0.0, 0
    for sender, receiver in product(params.senders, params.receivers):
        given, taken = there.network(sender, params.stitch.data), there.network(receiver, params.stitch.towards)
        into = [taken.cut(INPUT)] if params.stitch.pairs == "input" else taken.cuts
        for source, target in product(given.cuts, into):
            if params.stitch.pairs != "matching" or source.name == target.name:
                work += _cells(params, there, taken, source, target, given.front(source.name))
                count += len(params.objectives)
    yield Item("stitch", count * len(params.seeds), "cells", work=work * len(params.seeds))
    variants = [build(f"controls.{name}", CONTROLS, name, options) for name, options in params.controls.items()]
    controls = [variant for variant in variants if isinstance(variant, Control) and params.stitch.pairs != "input"]
    work, count = 0.0, 0
    for receiver, control in product(params.receivers, controls):
        network = there.network(receiver, params.stitch.towards)
        kinds = [name for name in params.objectives if control.paired or not _objective(params, name).paired]
        work += sum(_cells(params, there, network, cut, cut, kinds=kinds) for cut in network.cuts)
        count += len(kinds) * len(network.cuts)
    yield Item("control", count * len(params.seeds), "cells", work=work * len(params.seeds))


def _objective(params: Params, name: str) -> Objective:
    return build(f"objectives.{name}", OBJECTIVES, name, params.objectives[name])


def _cells(
    params: Params,
    there: _Parts,
    receiver: _Network,
    source: Cut,
    target: Cut,
    front: float = 0.0,
    kinds: list[str] | None = None,
) -> float:
    """Of the objectives named, or of all, at one pair of cuts: made, and tested through the tail.

    A sender that goes by batches runs its `front` with every batch, but where its activations are paired with others.
    """
    train, test = there.stitched
    (own, seen), tail = there.stitch(source.shape, target.shape), receiver.tail(target.name)
    found = 0.0
    for name in params.objectives if kinds is None else kinds:
        objective = _objective(params, name)
        if objective.closed:
            places = prod(target.shape) / features(target.shape)
            images = min(train, params.objectives[name].get("samples") or train)
            found += images * places * seen * (seen + features(target.shape))
        else:  # an objective that is told labels looks through the tail
            epochs = params.stitching(name).epochs
            found += epochs * train * (LEARNING * own + PASSING * tail * objective.labelled)
            online = params.stitch.sender_bn == "batch" and not objective.paired
            found += (epochs * train + test) * front * online
        found += test * (own + tail)
    return found


def _detect(params: Params, there: _Parts) -> Item:
    """Detectors that have a network of their own, which says itself how it is trained."""
    variants = {n: build(f"detectors.{n}", DETECTORS, n, options) for n, options in params.detectors.items()}
    trained: list[Detector] = [variant for variant in variants.values() if variant.trained]
    train, _ = there.counts[params.stitch.towards]
    work, count = 0.0, 0
    for receiver, detector in product(params.receivers, trained):
        network = there.network(receiver, params.stitch.towards)
        for cut in network.cuts:

            def descend(module: nn.Module, loss: Any, data: str, recipe: str, cut: Cut = cut) -> None:
                nonlocal work
                images = train * (2 if data == "mixed" else 1)
                work += LEARNING * params.recipes[recipe].epochs * images * products(module, cut.shape)

            rows = Held(np.broadcast_to(np.float32(0), (train, *cut.shape)))
            labels = np.zeros(train, np.int64)
            detector.fit(Setting(rows, labels, network.classes, nn.Identity(), torch.device("cpu"), 0, 0, descend))
            count += 1
    return Item("detect", count * len(params.seeds), "networks", work=work * len(params.seeds))
