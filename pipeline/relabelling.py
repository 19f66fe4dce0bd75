"""The samples of a stitch under other labels, or only those of some classes."""

from dataclasses import dataclass

import numpy as np

from pipeline.arrays import Activations, Labels, Sender, Shape
from pipeline.atomic import digest
from pipeline.params import Labelling
from pipeline.rows import Picked


def relabelled(sender: Sender, labelling: Labelling, classes: int) -> Sender:
    """`sender` with labels as the study calls them, out of `classes`."""
    return Relabelled(sender, labelling, classes) if labelling != Labelling(None, 0, None) else sender


@dataclass(frozen=True)
class Relabelled:
    """Samples of the first classes only, with their labels shifted and permuted."""

    sender: Sender
    labelling: Labelling
    count: int

    @property
    def digest(self) -> str:
        return digest(self.sender.digest, vars(self.labelling), self.count)

    @property
    def cuts(self) -> tuple[str, ...]:
        return self.sender.cuts

    def shape(self, cut: str) -> Shape:
        return self.sender.shape(cut)

    def labels(self, split: str) -> Labels:
        """After the offset comes the permutation."""
        labels = (self.sender.labels(split)[self._kept(split)] + self.labelling.offset) % self.count
        named = self.labelling.permutation
        return labels if named is None else np.asarray(named, np.int64)[labels]

    def rows(self, split: str, cut: str) -> Activations:
        rows = self.sender.rows(split, cut)
        return rows if self.labelling.classes is None else Picked(rows, self._kept(split))

    def _kept(self, split: str) -> np.ndarray:
        labels = self.sender.labels(split)
        return np.flatnonzero(labels < (self.labelling.classes or self.count))
