"""First and second moments of paired activations, and the affine maps that follow from them in closed form.

Every place (pixel or token) of every sample is a row. Sums run over blocks, in float64, around a shift near the
mean: one pass over the data, and no digits lost to a large mean.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.arrays import Activations, Rows

BLOCK_BYTES = 2**26  # of float64 held at once
CUTOFF = 1e-6  # directions of the source with a smaller share of the largest deviation are rounding

Arrange = Callable[[Rows], Rows]  # brings the source's places into the order of the target's


@dataclass(frozen=True)
class Source:
    """A mean and centred second moments (D × D): sums of squares and products, not divided by the count."""

    count: int
    mean: np.ndarray
    products: np.ndarray

    @cached_property
    def basis(self) -> tuple[np.ndarray, np.ndarray]:
        """Principal variances (sums of squares), falling, and their directions as columns. Factored once."""
        variances, directions = np.linalg.eigh(self.products)
        return np.clip(variances[::-1], 0, None), directions[:, ::-1]

    def kept(self, cutoff: float, rank: int | None = None) -> int:
        """How many directions have more than `cutoff` of the largest one's deviation; `rank` at most."""
        count = int((self.basis[0] > self.basis[0][0] * cutoff**2).sum())
        return count if rank is None else min(rank, count)

    def variances(self) -> np.ndarray:
        """Of each feature."""
        return np.diag(self.products) / self.count


@dataclass(frozen=True)
class Moments:
    """Of a source x (D features) and a target y (E features) at the same places."""

    source: Source
    mean: np.ndarray  # of y
    cross: np.ndarray  # D × E: sums of products of centred x and y

    def affine(self, cutoff: float = CUTOFF, rank: int | None = None, ridge: float = 0.0) -> "Map":
        """W and b with the least sum of |W x + b - y|² + `ridge` |W|², over x's first `rank` directions only.

        Directions below `cutoff` are left out: on a rank-deficient source that is the solution of least norm.
        """
        kept = self.source.kept(cutoff, rank)
        variances, directions = self.source.basis[0][:kept], self.source.basis[1][:, :kept]
        weight = ((directions / (variances + ridge)) @ (directions.T @ self.cross)).T
        return Map(weight, self.mean - weight @ self.source.mean)

    def orthogonal(self) -> "Map":
        """The same with W's columns orthonormal (E ≥ D): Procrustes' rotation."""
        left, _, right = np.linalg.svd(self.cross.T, full_matrices=False)
        return Map(left @ right, self.mean - left @ right @ self.source.mean)

    def reduced(self, rank: int, free: "Map") -> "Map":
        """The best W of at most `rank`: the free one, seen in the first directions of what it predicts."""
        predicted = free.weight @ self.cross  # the same as W (XX + ridge) Wᵀ, for W solves that for the cross products
        directions = np.linalg.eigh(predicted)[1][:, ::-1][:, :rank]
        weight = directions @ directions.T @ free.weight
        return Map(weight, self.mean - weight @ self.source.mean)


@dataclass(frozen=True)
class Map:
    """x → weight @ x + bias."""

    weight: np.ndarray  # E × D
    bias: np.ndarray

    def onto(self, target: Source, rank: int, cutoff: float = CUTOFF) -> "Map":
        """This map, and then what lies off the target's first `rank` directions taken away."""
        directions = target.basis[1][:, : target.kept(cutoff, rank)]
        inside = directions @ directions.T
        return Map(inside @ self.weight, inside @ (self.bias - target.mean) + target.mean)


def moments(source: Activations, targets: Sequence[Activations], arrange: Arrange = lambda rows: rows) -> list[Moments]:
    """Of the source with each of the targets, from one pass over all of them; they share the source's part."""
    sums: list[_Sums] = []
    x_sums = _Sums()
    for start, stop in _blocks([source, *targets]):
        x = by_place(arrange(source.read(start, stop)))
        x_centred = x_sums.add(x, x)
        sums = sums or [_Sums() for _ in targets]
        for total, target in zip(sums, targets, strict=True):
            total.add(by_place(target.read(start, stop)), x_centred)
    mean_x, products = x_sums.mean(), x_sums.products(x_sums)
    shared = Source(x_sums.count, mean_x, products)
    return [Moments(shared, total.mean(), total.products(x_sums)) for total in sums]


def own_moments(rows: Activations) -> Source:
    """Of one side alone."""
    return moments(rows, [rows])[0].source


class _Sums:
    """Σ (y - s) and Σ (x - r)ᵀ(y - s), for shifts s and r that are the first block's means."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Takes a block in; the block around the shift. `others` are already so, or `rows` themselves."""
        if not self.count:
            self.shift = rows.mean(0)
            self.total = np.zeros(rows.shape[1])
            self.crossed = np.zeros((others.shape[1], rows.shape[1]))
        centred = rows - self.shift
        self.total += centred.sum(0)
        self.crossed += (centred if others is rows else others).T @ centred
        self.count += len(rows)
        return centred

    def mean(self) -> np.ndarray:
        return self.shift + self.total / self.count

    def products(self, others: "_Sums") -> np.ndarray:
        """What was crossed, around the means instead of the shifts."""
        return self.crossed - np.outer(others.total, self.total) / self.count


def by_place(rows: Rows) -> np.ndarray:
    """N × C × H × W, N × T × D or N × D as float64 places × features."""
    if rows.ndim == 4:
        rows = rows.transpose(0, 2, 3, 1)
    return rows.reshape(-1, rows.shape[-1]).astype(np.float64)


def _blocks(arrays: Sequence[Activations]) -> Iterator[tuple[int, int]]:
    samples = arrays[0].shape[0]
    size = max(1, BLOCK_BYTES // (8 * sum(int(np.prod(rows.shape[1:])) for rows in arrays)))
    for start in range(0, samples, size):
        yield start, min(start + size, samples)
