"""A layer seen in its first principal directions only, the mean added back: one eigenbasis for all ranks.

A row is a place (pixel or token) of a sample, a column a feature, as in Balogh & Jelasity (2025).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.arrays import Activations, Rows, Shape
from pipeline.moments import Source, by_place, own_moments

_BLOCK_BYTES = 2**26


@dataclass(frozen=True)
class Truncated:
    """`rows` in the first `rank` directions of `of`; worked out when they are read, in float64."""

    rows: Activations
    of: Source
    rank: int

    @property
    def shape(self) -> Shape:
        return self.rows.shape

    def read(self, start: int, stop: int) -> Rows:
        return self._seen(self.rows.read(start, stop))

    def take(self, indices: np.ndarray) -> Rows:
        return self._seen(self.rows.take(indices))

    def _seen(self, rows: Rows) -> Rows:
        found = truncated(by_place(rows), self.of, self.rank)
        return np.moveaxis(found, 2, 1).reshape(rows.shape) if rows.ndim == 4 else found.reshape(rows.shape)


def truncated(rows: Rows, of: Source, rank: int) -> Rows:
    """Rows whose last axis is of features, in float64."""
    directions = of.basis[1][:, :rank]
    return (rows - of.mean) @ directions @ directions.T + of.mean


@dataclass(frozen=True)
class Truncation:
    """A layer's two splits, and the ranks that they are seen at: its width first, then what is below it, falling."""

    train: Activations
    test: Activations
    wanted: tuple[int, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        return features(self.train.shape), *self._lower

    @property
    def _lower(self) -> list[int]:
        return sorted({rank for rank in self.wanted if rank < features(self.train.shape)}, reverse=True)

    @cached_property
    def basis(self) -> Source:
        """Of the training split, and so of nothing that is tested."""
        return own_moments(self.train)

    def layers(self) -> list[Activations]:
        """The test split at each rank; at its width it is as it was."""
        return [self.test, *(Truncated(self.test, self.basis, rank) for rank in self._lower)]

    def pooled(self, split: str) -> list[Rows]:
        """Means over places at each rank; a mean of truncated places is the truncated mean."""
        means = pooled(self.train if split == "train" else self.test)
        return [means, *(truncated(means, self.basis, rank) for rank in self._lower)]


def features(shape: Shape) -> int:
    """Of activations of this shape, samples first: the channels of maps, the width of tokens or of a flat layer."""
    return shape[1] if len(shape) == 4 else shape[-1]


def pooled(rows: Activations) -> Rows:
    """Each sample's mean over places, in float64."""
    size = max(1, _BLOCK_BYTES // (8 * int(np.prod(rows.shape[1:]))))
    starts = range(0, rows.shape[0], size)
    return np.concatenate([by_place(rows.read(at, min(at + size, rows.shape[0]))).mean(1) for at in starts])
