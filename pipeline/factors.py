"""One exact factorisation a layer, from which all its pairs come; on disk where memory has no room for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from pipeline.views import View

CUTOFF = 1e-6  # of the largest singular value: below it lies what float32 and squaring leave of a zero one
HALF_CUTOFF = 1e-3  # the same, of what was stored in float16


@dataclass
class Room:
    """Where arrays are made: in memory while they fit into half of it, then as files of a temporary folder."""

    folder: Path
    memory: int
    used: int = 0
    files: int = 0

    def fits(self, *shape: int) -> bool:
        return self.used + 8 * int(np.prod(shape)) <= self.memory // 2

    def empty(self, *shape: int) -> np.ndarray:
        if self.fits(*shape):
            self.used += 8 * int(np.prod(shape))
            return np.empty(shape)
        self.files += 1
        return np.lib.format.open_memmap(self.folder / f"{self.files}.npy", "w+", np.float64, shape)

    def parts(self, rows: int, width: int) -> Iterator[slice]:
        """`rows` rows in order, as many at a time as there is room for, `width` numbers to a row."""
        size = max(1, self.memory // (4 * 8 * max(1, width)))
        return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


@contextmanager
def room(memory: int, used: int = 0) -> Iterator[Room]:
    with TemporaryDirectory(prefix="backstitch-") as folder:
        yield Room(Path(folder), memory, used)


class Compact(NamedTuple):
    """All that inner products of rows need: the rows X, or X X' where that is smaller; in `order`, if it has one."""

    array: np.ndarray
    wide: bool
    cutoff: float
    order: np.ndarray | None = None

    def products(self, part: slice | np.ndarray) -> np.ndarray:
        """Rows `part` of X X'."""
        if not self.wide:
            return self.array[part] @ self.array.T
        if self.order is None:
            return np.asarray(self.array[part])
        return np.take(self.array[self.order[part]], self.order, 1)

    def diagonal(self) -> np.ndarray:
        if not self.wide:
            return np.einsum("ij,ij->i", self.array, self.array)
        return self.array.diagonal().copy() if self.order is None else self.array.diagonal()[self.order]

    def moved(self, order: np.ndarray, room: Room) -> "Compact":
        return self._replace(order=order) if self.wide else self._replace(array=reordered(self.array, order, room))


class Factor(NamedTuple):
    """Centred X = U S V': `basis` U is N × r and orthonormal, `scales` S fall; `loadings` are S V', or empty."""

    basis: np.ndarray
    scales: np.ndarray
    loadings: np.ndarray

    def leading(self, share: float) -> "Factor":
        """The fewest directions that hold `share` of the variance."""
        held = np.cumsum(self.scales**2) / (self.scales**2).sum()
        kept = min(len(held), 1 + int(np.count_nonzero(held < share * (1 - 1e-12))))
        return Factor(self.basis[:, :kept], self.scales[:kept], self.loadings[:kept])

    def moved(self, order: np.ndarray, room: Room) -> "Factor":
        """That of the rows in another order."""
        return self._replace(basis=reordered(self.basis, order, room))


def reordered(rows: np.ndarray, order: np.ndarray, room: Room) -> np.ndarray:
    found = room.empty(*rows.shape)
    for part in room.parts(len(rows), 2 * rows.shape[1]):
        found[part] = rows[order[part]]
    return found


def compact(view: View, room: Room) -> Compact:
    samples, width = view.shape
    cutoff = HALF_CUTOFF if view.half else CUTOFF
    if width < samples:
        rows = room.empty(samples, width)
        for part, block in view.blocks():
            rows[part] = block
        return Compact(rows, wide=False, cutoff=cutoff)
    products = room.empty(samples, samples)
    for number, (part, block) in enumerate(view.blocks()):
        products[part, part] = block @ block.T  # of a matrix with itself, BLAS works out one half
        for other, against in islice(view.blocks(), number):
            products[part, other] = block @ against.T
            products[other, part] = products[part, other].T
    return Compact(products, wide=True, cutoff=cutoff)


def some(whole: Compact, kept: np.ndarray, centred: bool, room: Room) -> Compact:
    """Of the rows `kept` alone, with their own mean taken off where the whole's had been."""
    array = room.empty(len(kept), len(kept) if whole.wide else whole.array.shape[1])
    parts = list(room.parts(len(kept), 2 * len(whole.array)))
    for part in parts:
        rows = whole.array[kept[part]]
        array[part] = rows[:, kept] if whole.wide else rows
    if centred:
        mean = np.sum([array[part].sum(0) for part in parts], 0) / len(kept)
        for part in parts:
            if whole.wide:  # centring rows and columns of X X' is centring X
                array[part] += np.mean(mean) - mean[part, None]
            array[part] -= mean
    return Compact(array, whole.wide, whole.cutoff)


def factor(small: Compact, room: Room) -> Factor:
    """Without loadings."""
    if small.wide:
        squares, vectors = _eigen(np.asarray(small.array), small.cutoff)
        basis = room.empty(*vectors.shape)
        basis[:] = vectors
    else:
        squares, vectors = _eigen(inner(small.array, small.array, room), small.cutoff)
        basis = _orthonormal(small.array, vectors / np.sqrt(squares), room)
    return Factor(basis, np.sqrt(squares), np.empty((len(squares), 0)))


def inner(x: np.ndarray, y: np.ndarray, room: Room) -> np.ndarray:
    """X' Y, some rows at a time."""
    products = (x[part].T @ y[part] for part in room.parts(len(x), x.shape[1] + y.shape[1]))
    total = next(products)
    for product in products:
        total += product
    return total


def mean_correlation(x: Factor, y: Factor, room: Room) -> float:
    """Of the canonical correlations, of which there are as many as the smaller rank."""
    return float(np.linalg.svd(inner(x.basis, y.basis, room), compute_uv=False).mean())


def _eigen(products: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are more than rounding noise, falling, and their vectors."""
    values, vectors = np.linalg.eigh(products)
    kept = values > cutoff**2 * values[-1]
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def _orthonormal(rows: np.ndarray, into: np.ndarray, room: Room) -> np.ndarray:
    """`rows @ into`, straightened: squaring had cost the weakest directions half their digits."""
    basis = room.empty(len(rows), into.shape[1])
    parts = list(room.parts(len(rows), rows.shape[1]))
    for part in parts:
        basis[part] = rows[part] @ into
    triangle = np.linalg.inv(np.linalg.cholesky(inner(basis, basis, room))).T
    for part in parts:
        basis[part] = basis[part] @ triangle
    return basis
