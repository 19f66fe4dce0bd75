"""Batches of which one half are the receiver's own activations and the other are not."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.detectors.base import OUTSIDE
from pipeline.randomness import seed_for
from pipeline.training import Batch, Source


@dataclass(frozen=True)
class Mixed:
    """An epoch is all of the receiver's own once, beside as many of the others, in an order anew for each epoch.

    Where there are more of the others than of its own, each epoch is beside some of them; where there are fewer, they
    come round again.
    """

    own: Source
    others: Source

    @property
    def samples(self) -> int:
        return 2 * self.own.samples

    def epoch(self, seed: int, epoch: int, batch: int) -> Iterator[Batch]:
        if not self.others.samples:
            raise ValueError("others: has no samples; it should have at least one")
        if batch < 4:
            raise ValueError(f"batch: is {batch}; it should be 4 or more, for two samples on each side")
        others = self._others(seed_for(seed, "others", epoch), batch // 2)
        for (inputs, labels), beside in zip(self.own.epoch(seed, epoch, batch - batch // 2), others, strict=False):
            yield torch.cat([inputs, beside]), torch.cat([labels, labels.new_full((len(beside),), OUTSIDE)])

    def _others(self, seed: int, batch: int) -> Iterator[Tensor]:
        """Round after round without end."""
        turn = 0
        while True:
            for inputs, _ in self.others.epoch(seed, turn, batch):
                yield inputs
            turn += 1
