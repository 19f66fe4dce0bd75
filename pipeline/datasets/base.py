"""The contract of datasets: named, ordered, labelled images with stable sample ids."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, final, runtime_checkable

import numpy as np

from pipeline.arrays import Labels

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")


@runtime_checkable
class Pixels(Protocol):
    """N images of C × H × W bytes; an array, or something that decodes a slice when asked."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, index: Any, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Labelled:
    """One split. Ids never change when others join: two stores agree on a sample by its id."""

    pixels: Pixels
    labels: Labels
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Normalisation:
    """Channel means and deviations of pixels scaled to [0, 1]; (x / 255 - mean) / std."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


class Dataset(ABC):
    """A variant's fields are its options; `root` is the folder of raw files."""

    @abstractmethod
    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        """The split; whatever is random in it follows from `seed` alone."""

    @abstractmethod
    def classes(self, root: Path) -> tuple[str, ...]:
        """Names of the classes, in the order of their labels."""

    @abstractmethod
    def normalisation(self) -> Normalisation:
        """What turns pixels into a network's input."""

    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """C, H, W of every image."""

    def missing(self, root: Path) -> Iterable[str]:
        """What `load` would want and cannot find, a sentence each; nothing when all is there."""
        return ()

    def downloads(self) -> bool:
        """Whether `load` fetches what is missing, where there is a network."""
        return False


@dataclass(frozen=True)
class Derived(Dataset):
    """Made of the images of another dataset: its files, its downloads."""

    source: Dataset

    @final
    def missing(self, root: Path) -> Iterable[str]:
        return self.source.missing(root)

    @final
    def downloads(self) -> bool:
        return self.source.downloads()


@dataclass(frozen=True)
class SameClasses(Derived):
    """With the other dataset's classes, too."""

    @final
    def classes(self, root: Path) -> tuple[str, ...]:
        return self.source.classes(root)
