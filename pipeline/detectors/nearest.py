from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.detectors.base import Detector, Fitted, Setting, require
from pipeline.detectors.features import Block, Features, Of, held
from pipeline.separation import Scores

_TOGETHER = 1024  # rows whose neighbours are looked for in one pass over the training samples


@final
@dataclass(frozen=True)
class Nearest(Detector):
    """The Euclidean distance to the k-th nearest training sample (Sun et al. 2022), who normalise to unit length."""

    of: Of
    k: int
    normalise: bool  # whether each row is divided by its length

    def __post_init__(self) -> None:
        require(self.k >= 1, f"k: is {self.k}; it should be 1 or more")

    def fit(self, setting: Setting) -> "FittedNearest":
        features = Features(setting.rows, self.of)
        require(
            self.k <= features.samples,
            f"k: is {self.k}; it should be {features.samples} or less, as many as there are training samples",
        )
        return FittedNearest(self, held(features, setting.memory // 2), setting.memory // 2)


@dataclass(frozen=True)
class FittedNearest(Fitted):
    options: Nearest
    training: Features
    memory: int

    def scores(self, rows: Activations) -> Scores:
        features = Features(rows, self.options.of)
        parts = [
            self._distances(self._scaled(block[start : start + _TOGETHER]))
            for _, block in features.blocks(self.memory // 4)
            for start in range(0, len(block), _TOGETHER)
        ]
        return np.concatenate(parts)

    def _distances(self, block: Block) -> Scores:
        """By squares of sums, whose rounding may matter between near rows: so the k-th is measured once more."""
        squares = np.full((len(block), self.options.k), np.inf)
        numbers = np.zeros((len(block), self.options.k), np.int64)
        for start, others in self.training.blocks(self.memory // 2, beside=4 * 8 * len(block)):
            others = self._scaled(others)
            found = np.square(others).sum(1) - 2 * block @ others.T  # and the row's own square, the same for all
            at = np.broadcast_to(np.arange(start, start + len(others)), found.shape)
            squares, numbers = _least(np.hstack([squares, found]), np.hstack([numbers, at]), self.options.k)
        last = numbers[np.arange(len(block)), squares.argmax(1)]
        return np.linalg.norm(block - self._scaled(self.training.take(last)), axis=1)

    def _scaled(self, block: Block) -> Block:
        """A row of zeros has no direction and stays."""
        if not self.options.normalise:
            return block
        lengths = np.linalg.norm(block, axis=1, keepdims=True)
        return block / np.where(lengths > 0, lengths, 1.0)


def _least(squares: np.ndarray, numbers: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k least of each row, in any order, and their numbers."""
    places = np.argpartition(squares, k - 1, 1)[:, :k]
    return np.take_along_axis(squares, places, 1), np.take_along_axis(numbers, places, 1)
