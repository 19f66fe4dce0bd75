"""A tiny learnable set without any files, for trying out the whole pipeline."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.randomness import generator

CHANNELS = 3
PATCHES = 4  # a class is a pattern of 4 × 4 coloured patches
NOISE = 16.0  # standard deviation of every pixel, in levels of 256


@final
@dataclass(frozen=True)
class Synthetic(Dataset):
    """Each class a random pattern of coloured patches, each image its class with noise of its own."""

    categories: int
    samples: int  # in each split; the classes take turns
    size: int

    def __post_init__(self) -> None:
        if self.categories < 2:
            raise ValueError(f"categories: is {self.categories}; it should be 2 or more")
        if self.samples < self.categories:
            raise ValueError(f"samples: is {self.samples}; it should be at least the {self.categories} categories")
        if self.size < PATCHES:
            raise ValueError(f"size: is {self.size}; it should be {PATCHES} or more")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        labels = np.arange(self.samples, dtype=np.int64) % self.categories
        # Drawn image after image, so that asking for more samples leaves the first ones as they were.
        noise = generator(seed, "synthetic", split).normal(0, NOISE, (self.samples, *self.shape()))
        pixels = (self._patterns(seed)[labels] + noise).clip(0, 255).astype(np.uint8)
        return Labelled(pixels, labels, tuple(f"synthetic/{split}/{i:05d}" for i in range(self.samples)))

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple(f"pattern{i}" for i in range(self.categories))

    def normalisation(self) -> Normalisation:
        return Normalisation(mean=(0.5,) * CHANNELS, std=(0.25,) * CHANNELS)

    def shape(self) -> tuple[int, int, int]:
        return CHANNELS, self.size, self.size

    def _patterns(self, seed: int) -> np.ndarray:
        patches = generator(seed, "synthetic", "patterns").uniform(
            0, 256, (self.categories, CHANNELS, PATCHES, PATCHES)
        )
        place = np.arange(self.size) * PATCHES // self.size
        return patches[:, :, place[:, None], place]
