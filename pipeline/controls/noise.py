from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Labels, Rows, Sender, Shape
from pipeline.controls.base import Control, Setting
from pipeline.randomness import generator, seed_for


@final
@dataclass(frozen=True)
class Noise(Control):
    """Clustered noise (Smith et al. 2025, section 4.2): a point for each class, and noise around it.

    A class's centre is uniform in [0, 1] over the whole shape of the cut, channels and places alike; a sample is
    its centre plus `radius` times standard normal noise, clamped to [0, 1]. There are as many samples as the
    receiver has of the stitch's data. Each is drawn anew, from its own seed, whenever it is read.
    """

    radius: float
    classes: int | None  # null for as many as the receiver tells apart

    def __post_init__(self) -> None:
        if not self.radius >= 0:
            raise ValueError(f"radius: is {self.radius:g}; it should be 0 or more")
        if self.classes is not None and self.classes < 2:
            raise ValueError(f"classes: is {self.classes}; it should be 2 or more, or null for the receiver's")

    @property
    def paired(self) -> bool:
        return False

    @property
    def wanted(self) -> int:
        return self.classes or 2

    def sender(self, setting: Setting) -> Sender:
        return NoiseSender(setting.receiver, self.radius, self.classes or setting.classes, setting.seed)


@dataclass(frozen=True)
class NoiseSender:
    """Read like a store; labels go round the classes."""

    receiver: Sender
    radius: float
    classes: int
    seed: int

    @property
    def digest(self) -> str:
        return f"noise {self.radius!r} {self.classes} {self.seed} {self.receiver.digest}"

    @property
    def cuts(self) -> tuple[str, ...]:
        return self.receiver.cuts

    def shape(self, cut: str) -> Shape:
        return self.receiver.shape(cut)

    def labels(self, split: str) -> Labels:
        return np.arange(len(self.receiver.labels(split)), dtype=np.int64) % self.classes

    def rows(self, split: str, cut: str) -> "NoiseRows":
        return NoiseRows(self, split, cut)


@dataclass(frozen=True)
class NoiseRows:
    sender: NoiseSender
    split: str
    cut: str

    @property
    def shape(self) -> Shape:
        return len(self.sender.receiver.labels(self.split)), *self.sender.shape(self.cut)

    def read(self, start: int, stop: int) -> Rows:
        return self.take(np.arange(start, stop))

    def take(self, indices: np.ndarray) -> Rows:
        centres = self._centres()
        key = seed_for(self.sender.seed, "noise", self.split, self.cut)
        rows = np.empty((len(indices), *self.shape[1:]), np.float32)
        for row, index in zip(rows, indices.tolist(), strict=True):
            # A counter for each sample: what a row is depends on its number alone.
            draw = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, index]))
            draw.standard_normal(out=row, dtype=np.float32)
        rows *= self.sender.radius
        rows += centres[indices % self.sender.classes]
        return np.clip(rows, 0, 1, out=rows)

    def _centres(self) -> Rows:
        """Of one cut, the same for both splits."""
        random = generator(self.sender.seed, "centres", self.cut)
        return random.random((self.sender.classes, *self.shape[1:]), np.float32)
