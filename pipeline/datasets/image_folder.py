"""A folder of images a class, as ImageNet's are laid out: ``folder/split/CLASS/image``."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import final

import numpy as np
from PIL import Image

from pipeline.datasets.base import SPLITS, Dataset, Labelled, Normalisation, Split
from pipeline.datasets.drawn import Drawn
from pipeline.datasets.options import Triple, check_inside, check_scale
from pipeline.errors import DataError, choices

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}


@final
@dataclass(frozen=True)
class ImageFolder(Dataset):
    """Images of any size, decoded when asked for: shorter side to `resize`, then the middle `size` × `size`."""

    folder: str  # below the folder of raw files; "." for that folder itself
    train: str  # the split's folder in `folder`
    test: str
    categories: int | tuple[str, ...] | None  # the first so many by name, these in this order, or all
    resize: int | None  # null crops images as they are
    size: int
    mean: Triple
    std: Triple

    def __post_init__(self) -> None:
        for field in ("folder", "train", "test"):
            check_inside(field, getattr(self, field))
        _check_categories(self.categories)
        if self.size < 1:
            raise ValueError(f"size: is {self.size}; it should be 1 or more")
        if self.resize is not None and self.resize < self.size:
            raise ValueError(f"resize: is {self.resize}; it should be null or at least size, {self.size}")
        check_scale(self.mean, self.std)

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        ids, labels = [], []
        for label, name in enumerate(self.classes(root)):
            images = _images(root, self._place(split) / name)
            ids += images
            labels += [label] * len(images)
        decoded = Drawn((len(ids), *self.shape()), lambda row: decode(root / ids[row], self.resize, self.size))
        return Labelled(decoded, np.array(labels, np.int64), tuple(ids))

    def classes(self, root: Path) -> tuple[str, ...]:
        folder = root / self._place("train")
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; it should hold a folder of images a class")
        found = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        return _chosen(folder, found, self.categories)

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return 3, self.size, self.size

    def missing(self, root: Path) -> Iterable[str]:
        for folder in (root / self._place(split) for split in SPLITS):
            if not folder.is_dir():
                yield f"{folder}: no such folder; put images there, a folder a class"
                return
        for name in self.classes(root):
            if not (folder := root / self._place("test") / name).is_dir():
                yield f"{folder}: no such folder; every split should have one for each class"

    def _place(self, split: Split) -> PurePosixPath:
        return PurePosixPath(self.folder) / getattr(self, split)


def decode(path: Path, resize: int | None, size: int) -> np.ndarray:
    """The image's middle as 3 × size × size bytes, sized and rounded just as torchvision's transforms do."""
    try:
        with Image.open(path) as file:
            image = file.convert("RGB")
    except (OSError, SyntaxError, ValueError, struct.error, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: cannot be read as an image ({error}); replace it or take it away") from error
    if resize is not None:
        short = min(image.size)
        image = image.resize(
            (int(resize * image.width / short), int(resize * image.height / short)), Image.Resampling.BILINEAR
        )
    if min(image.size) < size:
        raise DataError(f"{path}: is {image.width} × {image.height}; it should be at least {size} each way, or resized")
    left, top = round((image.width - size) / 2), round((image.height - size) / 2)
    return np.asarray(image.crop((left, top, left + size, top + size))).transpose(2, 0, 1)


def _check_categories(categories: int | tuple[str, ...] | None) -> None:
    if isinstance(categories, int) and categories < 1:
        raise ValueError(f"categories: is {categories}; it should be 1 or more, names, or null for all")
    if isinstance(categories, tuple) and (not categories or len(set(categories)) < len(categories)):
        raise ValueError(f"categories: is {list(categories)}; it should name at least one class, and each only once")


def _chosen(folder: Path, found: list[str], categories: int | tuple[str, ...] | None) -> tuple[str, ...]:
    if categories is None and found:
        return tuple(found)
    if isinstance(categories, tuple):
        for name in categories:
            if name not in found:
                raise DataError(f"{folder}: has no class {name}; {choices(name, found)}")
        return categories
    if len(found) < (categories or 1):
        raise DataError(f"{folder}: has {len(found)} class folders; it should have at least {categories or 1}")
    return tuple(found[:categories])


def _images(root: Path, folder: PurePosixPath) -> list[str]:
    """Names of the images of one class, from the folder of raw files, in the order of their names."""
    if not (root / folder).is_dir():
        raise DataError(f"{root / folder}: no such folder; every split should have one for each class")
    paths = sorted((root / folder).iterdir(), key=lambda path: path.name)
    names = [path.name for path in paths if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
    if not names:
        raise DataError(f"{root / folder}: holds no image; it should hold some, named {', '.join(sorted(SUFFIXES))}")
    return [str(folder / name) for name in names]
