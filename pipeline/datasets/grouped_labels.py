"""Any dataset with coarser labels: groups of its classes."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from pipeline.datasets.base import Derived, Labelled, Normalisation, Split
from pipeline.errors import DataError, choices


@final
@dataclass(frozen=True)
class GroupedLabels(Derived):
    """The images of another dataset, called by the group that their class is of, as objects and animals.

    Bansal et al. (2021, figure 3A) ask what networks learn early on from labels that say less.
    """

    groups: dict[str, tuple[str, ...]]  # classes of the source, each in one group

    def __post_init__(self) -> None:
        if len(self.groups) < 2 or not all(self.groups.values()):
            raise ValueError(f"groups: are {self.groups}; they should be 2 or more, each with a class or more")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source, group_of = self.source.load(root, split, seed), self._groups(root)
        return Labelled(source.pixels, group_of[source.labels], tuple(f"grouped/{name}" for name in source.ids))

    def classes(self, root: Path) -> tuple[str, ...]:
        self._groups(root)  # so that groups of other classes are refused as soon as anybody asks
        return tuple(self.groups)

    def normalisation(self) -> Normalisation:
        return self.source.normalisation()

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()

    def _groups(self, root: Path) -> np.ndarray:
        """The group's number of each of the source's classes."""
        classes = self.source.classes(root)
        found = {name: number for number, names in enumerate(self.groups.values()) for name in names}
        for name in found:
            if name not in classes:
                raise DataError(f"grouped_labels: groups: name {name}, which is no class; {choices(name, classes)}")
        for name in classes:
            if [name in names for names in self.groups.values()].count(True) != 1:
                raise DataError(f"grouped_labels: groups: do not name {name} once; each class should be in one group")
        return np.array([found[name] for name in classes], np.int64)
