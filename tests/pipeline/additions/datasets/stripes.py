from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.randomness import generator


@final
@dataclass(frozen=True)
class Stripes(Dataset):
    """Noisy grey stripes, lying or standing; `samples` of them in each split."""

    samples: int
    size: int

    def __post_init__(self) -> None:
        for name in ("samples", "size"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name}: is {getattr(self, name)}; it should be 2 or more")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        labels = np.arange(self.samples) % 2
        lying = np.tile(np.arange(self.size)[:, None] % 2, self.size)
        lines = np.where(labels[:, None, None] == 0, lying, lying.T)
        noise = generator(seed, "stripes", split).integers(0, 64, lines.shape)
        pixels = (lines * 192 + noise).astype(np.uint8)[:, None]
        return Labelled(pixels, labels.astype(np.int64), tuple(f"stripes/{split}/{i:05d}" for i in range(self.samples)))

    def classes(self, root: Path) -> tuple[str, ...]:
        return "lying", "standing"

    def normalisation(self) -> Normalisation:
        return Normalisation(mean=(0.5,), std=(0.4,))

    def shape(self) -> tuple[int, int, int]:
        return 1, self.size, self.size
