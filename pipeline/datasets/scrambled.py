"""Another dataset's own images with their pixels, or patches, out of place."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from pipeline.datasets.base import Labelled, Normalisation, SameClasses, Split
from pipeline.datasets.drawn import Drawn
from pipeline.randomness import generator


@final
@dataclass(frozen=True)
class Scrambled(SameClasses):
    """Each image cut into square patches that change places, in an order of its own and never the one they had.

    A patch keeps its inside and all its channels; with `patch: 1` only an image's colours are left.
    """

    patch: int  # side, in pixels

    def __post_init__(self) -> None:
        _, height, width = self.source.shape()
        if self.patch < 1:
            raise ValueError(f"patch: is {self.patch}; it should be 1 or more")
        if height % self.patch or width % self.patch or self.patch == height == width:
            raise ValueError(f"patch: is {self.patch}; it should cut {height} × {width} into two or more whole patches")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source = self.source.load(root, split, seed)

        def image(row: int) -> np.ndarray:
            # By its id, so that an image is scrambled alike whatever others there are.
            return scrambled(source.pixels[row], self.patch, generator(seed, "scrambled", source.ids[row]))

        ids = tuple(f"scrambled{self.patch}/{name}" for name in source.ids)
        return Labelled(Drawn(source.pixels.shape, image), source.labels, ids)

    def normalisation(self) -> Normalisation:
        return self.source.normalisation()

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()


def scrambled(image: np.ndarray, patch: int, rng: np.random.Generator) -> np.ndarray:
    """The C × H × W image with its patches in another order."""
    channels, height, width = image.shape
    across = image.reshape(channels, height // patch, patch, width // patch, patch)
    patches = across.transpose(1, 3, 0, 2, 4).reshape(-1, channels, patch, patch)
    order = _another_order(len(patches), rng)
    grid = patches[order].reshape(height // patch, width // patch, channels, patch, patch)
    return grid.transpose(2, 0, 3, 1, 4).reshape(image.shape)


def _another_order(count: int, rng: np.random.Generator) -> np.ndarray:
    order = rng.permutation(count)
    while np.array_equal(order, np.arange(count)):  # of few patches, many orders would be this one
        order = rng.permutation(count)
    return order
