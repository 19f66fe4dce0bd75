"""Images in one array file, without labels: the layout of 300K Random Images (Hendrycks et al. 2019)."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final
from zipfile import BadZipFile

import numpy as np

from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.datasets.files import missing
from pipeline.datasets.options import Triple, check_inside, check_scale
from pipeline.errors import DataError


@final
@dataclass(frozen=True)
class ImageArray(Dataset):
    """The first images to train, the next to test; all of one class, for auxiliary data of detectors."""

    file: str  # N × size × size × 3 bytes, as numpy.save writes them, below the folder of raw files
    size: int
    train: int
    test: int
    mean: Triple
    std: Triple

    def __post_init__(self) -> None:
        check_inside("file", self.file)
        for name in ("size", "train", "test"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: is {getattr(self, name)}; it should be 1 or more")
        check_scale(self.mean, self.std)

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        images = self._images(root / self.file)
        first, count = (0, self.train) if split == "train" else (self.train, self.test)
        chosen = images[first : first + count].transpose(0, 3, 1, 2)
        ids = tuple(f"{self.file}/{number:06d}" for number in range(first, first + count))
        return Labelled(chosen, np.zeros(count, np.int64), ids)

    def classes(self, root: Path) -> tuple[str, ...]:
        return ("image",)

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return 3, self.size, self.size

    def missing(self, root: Path) -> Iterable[str]:
        return missing(root, [self.file], "put it there")

    def _images(self, path: Path) -> np.ndarray:
        try:
            images = np.load(path, mmap_mode="r", allow_pickle=False)
            if not isinstance(images, np.ndarray):
                raise ValueError("it holds several arrays")
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            why = " ".join(str(error).split())
            raise DataError(f"{path}: is no array as numpy.save writes it: {why}; put one there") from error
        wanted = (self.size, self.size, 3)
        if images.dtype != np.uint8 or images.shape[1:] != wanted:
            there, should = (" × ".join(map(str, shape)) for shape in (images.shape, ("N", *wanted)))
            raise DataError(f"{path}: holds {there} of {images.dtype}; it should be {should} of uint8")
        if len(images) < self.train + self.test:
            raise DataError(f"{path}: holds {len(images)} images; train and test ask for {self.train + self.test}")
        return images
