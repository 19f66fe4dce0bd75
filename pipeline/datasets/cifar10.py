"""CIFAR-10 (Krizhevsky 2009)."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torchvision.datasets
from torchvision.datasets.utils import check_integrity

from pipeline.datasets import files
from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.datasets.options import Limit, Triple, check_scale, limited

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@final
@dataclass(frozen=True)
class CIFAR10(Dataset):
    """50,000 and 10,000 photographs of 32 × 32 in colour, from ``cifar-10-batches-py/``."""

    limit: Limit | None
    mean: Triple  # papers differ: CIFAR's own, ImageNet's, or none at all (0 and 1)
    std: Triple

    def __post_init__(self) -> None:
        check_scale(self.mean, self.std)

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        published = _published(root, split)
        pixels = np.ascontiguousarray(published.data.transpose(0, 3, 1, 2))
        ids = tuple(f"cifar10/{split}/{i:05d}" for i in range(len(pixels)))
        return limited("cifar10", Labelled(pixels, np.asarray(published.targets, np.int64), ids), split, self.limit)

    def classes(self, root: Path) -> tuple[str, ...]:
        return CLASSES

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return 3, 32, 32

    def missing(self, root: Path) -> Iterable[str]:
        return files.missing(root, _md5s())

    def downloads(self) -> bool:
        return True


def _md5s() -> dict[str, str]:
    source = torchvision.datasets.CIFAR10
    listed = [*source.train_list, *source.test_list, [source.meta["filename"], source.meta["md5"]]]
    return {f"{source.base_folder}/{name}": md5 for name, md5 in listed}


def _published(root: Path, split: Split) -> torchvision.datasets.CIFAR10:
    """torchvision's own reading, which unpickles a file only after its checksum has passed."""
    source = torchvision.datasets.CIFAR10
    files.fetch(root, _md5s(), lambda: source(root, download=True))
    try:
        return source(root, train=split == "train")
    except RuntimeError as error:  # says that a file is wrong, but not which
        wrong = next(root / name for name, md5 in _md5s().items() if not check_integrity(root / name, md5))
        raise files.damaged(wrong) from error
