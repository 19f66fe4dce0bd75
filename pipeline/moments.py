"""First and second moments of paired activations, and the affine maps that follow from them in closed form.

Every place (pixel or token) of every sample is a row. Sums run over blocks, in float64, around a shift near the
mean: one pass over the data, and no digits lost to a large mean.

Where a source has fewer places than the target, each of the target's is paired with a weighted mean of the source's:
rows U x, with weights U that are the same for every sample and feature. The target alone is touched at its many
places, since Σ (U x)ᵀ(U x) = Σ xᵀ(UᵀU) x and Σ (U x)ᵀ y = Σ xᵀ(Uᵀ y).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.arrays import Activations, Rows

BLOCK_BYTES = 2**26  # of float64 held at once
CUTOFF = 1e-6  # directions of the source with a smaller share of the largest deviation are rounding


@dataclass(frozen=True)
class Pairing:
    """How a source's places become the target's."""

    shrink: Callable[[Rows], Rows] = np.asarray  # to the places that a stitch's core sees
    spread: np.ndarray | None = None  # Uᵀ: what each of those (a row) has in each of the target's; None for one to one


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

    source: Source  # at the target's places
    inputs: Source  # the same at the places where a core sees it
    mean: np.ndarray  # of y
    cross: np.ndarray  # D × E: sums of products of centred x and y

    def affine(self, cutoff: float = CUTOFF, rank: int | None = None, ridge: float = 0.0) -> "Map":
        """W and b with the least sum of |W x + b - y|² + `ridge` |W|², over x's first `rank` directions only.

        Directions below `cutoff` are left out: on a rank-deficient source that is the solution of least norm.
        """
        kept = self.source.kept(cutoff, rank)
        variances, directions = self.source.basis[0][:kept], self.source.basis[1][:, :kept]
        weight = ((directions / (variances + ridge)) @ (directions.T @ self.cross)).T
        return Map(weight, self.mean - weight @ self.source.mean, ridge)

    def orthogonal(self) -> "Map":
        """The same with W's columns orthonormal (E ≥ D): Procrustes' rotation."""
        left, _, right = np.linalg.svd(self.cross.T, full_matrices=False)
        return Map(left @ right, self.mean - left @ right @ self.source.mean)

    def reduced(self, rank: int, free: "Map") -> "Map":
        """The best W of at most `rank`: the free one, seen in the first directions of what it predicts."""
        predicted = free.weight @ self.source.products @ free.weight.T + free.ridge * free.weight @ free.weight.T
        directions = np.linalg.eigh(predicted)[1][:, ::-1][:, :rank]
        inside = directions @ directions.T
        predicted_mean = free.weight @ self.source.mean + free.bias  # the target's, where that is whole
        return Map(inside @ free.weight, predicted_mean - inside @ free.weight @ self.source.mean)


@dataclass(frozen=True)
class Map:
    """x → weight @ x + bias."""

    weight: np.ndarray  # E × D
    bias: np.ndarray
    ridge: float = 0.0  # that it was found with

    def onto(self, target: Source, rank: int, cutoff: float = CUTOFF) -> "Map":
        """This map, and then what lies off the target's first `rank` directions taken away."""
        directions = target.basis[1][:, : target.kept(cutoff, rank)]
        inside = directions @ directions.T
        return Map(inside @ self.weight, inside @ (self.bias - target.mean) + target.mean, self.ridge)


def moments(source: Activations, targets: Sequence[Activations], pairing: Pairing = Pairing()) -> list[Moments]:
    """Of the source with each of the targets, from one pass over all of them; they share the source's part."""
    x_sums, sums = _Source(pairing.spread), [_Target(pairing.spread) for _ in targets]
    for start, stop in _blocks([source, *targets]):
        x = x_sums.add(by_place(pairing.shrink(source.read(start, stop))))
        for total, target in zip(sums, targets, strict=True):
            total.add(by_place(target.read(start, stop)), x)
    found, inputs = x_sums.spread_out(), x_sums.seen()
    return [Moments(found, inputs, total.mean(), total.cross(x_sums)) for total in sums]


def own_moments(rows: Activations, pairing: Pairing = Pairing()) -> Source:
    """Of one side alone, at the places where a core sees it."""
    sums = _Source(None)
    for start, stop in _blocks([rows]):
        sums.add(by_place(pairing.shrink(rows.read(start, stop))))
    return sums.seen()


class _Source:
    """Sums over x around a shift, which is the first block's mean: as it is, and of U x where there is a U."""

    def __init__(self, spread: np.ndarray | None) -> None:
        self._spread, self.count = spread, 0
        self._gram = None if spread is None else spread @ spread.T

    def add(self, rows: Rows) -> Rows:
        """Takes a block in, and returns it around the shift."""
        if not self.count:
            features = rows.shape[2]
            self.shift, self._places = rows.mean((0, 1)), np.zeros(rows.shape[1:])
            self._products, self._spread_products = np.zeros((2, features, features))
        centred = rows - self.shift
        self.count += len(rows)
        self._places += centred.sum(0)
        self._products += _crossed(centred, centred)
        if self._gram is not None:
            self._spread_products += _crossed(centred, self._gram @ centred)
        return centred

    def seen(self) -> Source:
        return self._around(self._places.sum(0), self._products, len(self._places))

    def spread_out(self) -> Source:
        return (
            self.seen()
            if self._spread is None
            else self._around(self.total(), self._spread_products, self._spread.shape[1])
        )

    def total(self) -> np.ndarray:
        """Of the shifted rows, spread out."""
        return (self._places if self._spread is None else self._spread.sum(1)[:, None] * self._places).sum(0)

    def _around(self, total: np.ndarray, products: np.ndarray, places: int) -> Source:
        count = self.count * places
        return Source(count, self.shift + total / count, products - np.outer(total, total) / count)


class _Target:
    """Sums over y around a shift, and over its products with a source that is around another."""

    def __init__(self, spread: np.ndarray | None) -> None:
        self._spread, self._count = spread, 0

    def add(self, rows: Rows, x: Rows) -> None:
        if not self._count:
            self._shift = rows.mean((0, 1))
            self._total, self._cross = np.zeros(rows.shape[2]), np.zeros((x.shape[2], rows.shape[2]))
        rows -= self._shift
        self._count += rows.shape[0] * rows.shape[1]
        self._total += rows.sum((0, 1))
        self._cross += _crossed(x, rows if self._spread is None else self._spread @ rows)

    def mean(self) -> np.ndarray:
        return self._shift + self._total / self._count

    def cross(self, x: _Source) -> np.ndarray:
        """Around the means instead of the shifts."""
        return self._cross - np.outer(x.total(), self._total) / self._count


def _crossed(one: Rows, other: Rows) -> np.ndarray:
    """Features × features, summed over samples and places."""
    return one.reshape(-1, one.shape[2]).T @ other.reshape(-1, other.shape[2])


def by_place(rows: Rows) -> Rows:
    """N × C × H × W, N × T × D or N × D as float64 samples × places × features."""
    if rows.ndim == 4:
        rows = rows.reshape(*rows.shape[:2], -1).transpose(0, 2, 1)
    elif rows.ndim == 2:
        rows = rows[:, None]
    return rows.astype(np.float64, order="C")


def _blocks(arrays: Sequence[Activations]) -> Iterator[tuple[int, int]]:
    samples = arrays[0].shape[0]
    size = max(1, BLOCK_BYTES // (8 * sum(int(np.prod(rows.shape[1:])) for rows in arrays)))
    for start in range(0, samples, size):
        yield start, min(start + size, samples)
