"""Another dataset's images, each in four turns, called by the turn: labels that need nobody to look."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from pipeline.datasets.base import Derived, Labelled, Normalisation, Split
from pipeline.datasets.drawn import Drawn

TURNS = ("upright", "quarter", "half", "three_quarters")  # against the clock


@final
@dataclass(frozen=True)
class Rotated(Derived):
    """Which way up an image is, as networks learn without labels by Gidaris, Singh and Komodakis (2018).

    Four times as many images as the source has: each in every turn, one after another.
    """

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source, turns = self.source.load(root, split, seed), len(TURNS)

        def image(row: int) -> np.ndarray:
            return np.rot90(source.pixels[row // turns], row % turns, (1, 2))

        count = len(source.ids)
        ids = tuple(f"rotated/{turn}/{name}" for name in source.ids for turn in TURNS)
        shape = (turns * count, *source.pixels.shape[1:])
        return Labelled(Drawn(shape, image), np.tile(np.arange(turns, dtype=np.int64), count), ids)

    def classes(self, root: Path) -> tuple[str, ...]:
        return TURNS

    def normalisation(self) -> Normalisation:
        return self.source.normalisation()

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()
