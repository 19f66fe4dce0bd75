"""Street View House Numbers (Netzer et al. 2011), cropped digits."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torchvision.datasets

from pipeline.datasets import files
from pipeline.datasets.base import SPLITS, Dataset, Labelled, Normalisation, Split
from pipeline.datasets.options import Limit, Triple, check_scale, limited


@final
@dataclass(frozen=True)
class SVHN(Dataset):
    """73,257 and 26,032 house numbers' digits of 32 × 32 in colour, from ``train_32x32.mat`` and ``test_32x32.mat``."""

    limit: Limit | None
    mean: Triple
    std: Triple

    def __post_init__(self) -> None:
        check_scale(self.mean, self.std)

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        published = _published(root, split)
        pixels = np.ascontiguousarray(published.data)  # N C H W already, but as a view of H W C N
        ids = tuple(f"svhn/{split}/{i:05d}" for i in range(len(pixels)))
        return limited("svhn", Labelled(pixels, published.labels.astype(np.int64), ids), split, self.limit)

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple("0123456789")  # torchvision has already turned the files' label 10 into 0

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return 3, 32, 32

    def missing(self, root: Path) -> Iterable[str]:
        return files.missing(root, map(_name, SPLITS))

    def downloads(self) -> bool:
        return True


def _name(split: Split) -> str:
    return torchvision.datasets.SVHN.split_list[split][1]


def _published(root: Path, split: Split) -> torchvision.datasets.SVHN:
    source = torchvision.datasets.SVHN
    files.fetch(root, [_name(split)], lambda: source(root, split=split, download=True))
    try:
        return source(root, split=split)
    except RuntimeError as error:
        raise files.damaged(root / _name(split)) from error
