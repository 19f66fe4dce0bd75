"""Noise, as out-of-distribution detection is trained and tested on; without any files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np
from scipy.ndimage import gaussian_filter

from pipeline.arrays import Shape
from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.datasets.drawn import Drawn
from pipeline.datasets.options import check_scales
from pipeline.randomness import generator

LIT, BLUR, FLOOR = 0.7, 1.5, 0.75  # of blobs: share of lit points, deviation of the blur in pixels, what is left dark

Pattern = Literal["gaussian", "rademacher", "blobs", "uniform"]


@final
@dataclass(frozen=True)
class Noise(Dataset):
    """Images drawn one by one, whose labels take turns and tell nothing of them.

    As Hendrycks, Mazeika and Dietterich (2019) have them, on a scale from 0 to 1: `gaussian` is normal around 0.5
    with deviation 0.25, cut off at both ends; `rademacher` 0 or 1; `uniform` any level alike (Hendrycks and Gimpel
    2017). `blobs` are points of which 70 % are lit, blurred by 1.5 pixels across all channels, and black below 0.75.
    """

    pattern: Pattern
    categories: int
    train: int  # images
    test: int
    channels: int
    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        for name, least in (("categories", 1), ("train", self.categories), ("test", self.categories)):
            if (count := getattr(self, name)) < least:
                told = f"at least the {least} categories" if name != "categories" else "1 or more"
                raise ValueError(f"{name}: is {count}; it should be {told}")
        for name in ("channels", "size"):
            if (count := getattr(self, name)) < 1:
                raise ValueError(f"{name}: is {count}; it should be 1 or more")
        check_scales(self.mean, self.std, self.channels)

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        count, shape = getattr(self, split), self.shape()
        draw = DRAWS[self.pattern]

        def image(row: int) -> np.ndarray:
            rng = generator(seed, "noise", self.pattern, split, row)
            return np.rint(255 * draw(rng, shape)).astype(np.uint8)

        labels = np.arange(count, dtype=np.int64) % self.categories
        ids = tuple(f"noise/{self.pattern}/{split}/{row:05d}" for row in range(count))
        return Labelled(Drawn((count, *shape), image), labels, ids)

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple(f"noise{i}" for i in range(self.categories))

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.size, self.size


def gaussian(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return rng.normal(0.5, 0.25, shape).clip(0, 1)


def rademacher(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return rng.integers(0, 2, shape).astype(np.float64)


def blobs(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Edges are continued by their own pixels, as the published code's blur does."""
    lit = (rng.random(shape) < LIT).astype(np.float64)
    smooth = gaussian_filter(lit, BLUR, mode="nearest")
    return np.where(smooth < FLOOR, 0, smooth)


def uniform(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return rng.integers(0, 256, shape) / 255


DRAWS = {"gaussian": gaussian, "rademacher": rademacher, "blobs": blobs, "uniform": uniform}
