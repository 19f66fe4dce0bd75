"""Fashion-MNIST (Xiao, Rasul and Vollgraf 2017)."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torchvision.datasets

from pipeline.datasets import idx
from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.datasets.options import Limit

PUBLISHED = idx.Published("fashion_mnist", torchvision.datasets.FashionMNIST)


@final
@dataclass(frozen=True)
class FashionMNIST(Dataset):
    """60,000 and 10,000 articles of clothing of 28 × 28 in grey, from ``FashionMNIST/raw/*.gz``."""

    files: idx.Files
    limit: Limit | None

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        return idx.load(PUBLISHED, root, split, self.files, self.limit)

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple(torchvision.datasets.FashionMNIST.classes)

    def normalisation(self) -> Normalisation:
        return Normalisation(mean=(0.2860,), std=(0.3530,))  # of the training images

    def shape(self) -> tuple[int, int, int]:
        return idx.SHAPE

    def missing(self, root: Path) -> Iterable[str]:
        return idx.missing(PUBLISHED, root, self.files)

    def downloads(self) -> bool:
        return True
