from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations, Labels, Sender, Shape
from pipeline.controls.base import Control, Setting
from pipeline.randomness import generator


@final
@dataclass(frozen=True)
class Shuffled(Control):
    """The receiver's own activations under labels of other samples: what a stitch can learn by heart."""

    @property
    def paired(self) -> bool:
        return False

    def sender(self, setting: Setting) -> Sender:
        return ShuffledSender(setting.receiver, setting.seed)


@dataclass(frozen=True)
class ShuffledSender:
    receiver: Sender
    seed: int

    @property
    def digest(self) -> str:
        return f"shuffled {self.seed} {self.receiver.digest}"

    @property
    def cuts(self) -> tuple[str, ...]:
        return self.receiver.cuts

    def shape(self, cut: str) -> Shape:
        return self.receiver.shape(cut)

    def labels(self, split: str) -> Labels:
        labels = self.receiver.labels(split)
        return np.array(labels[generator(self.seed, "shuffled", split).permutation(len(labels))])

    def rows(self, split: str, cut: str) -> Activations:
        return self.receiver.rows(split, cut)
