"""One exact factorisation a layer, from which all its pairs come; on disk where memory has no room for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import numpy as np

from pipeline.arrays import Activations
from pipeline.views import Of, Prepared, View, view_of_pair

CUTOFF = 1e-6  # of the largest singular value: below it lies what float32 and squaring leave of a zero one
T = TypeVar("T")


@dataclass
class Room:
    """Where arrays are made: in memory while they fit into half of it, then as files of a temporary folder."""

    folder: Path
    memory: int
    used: int = 0
    files: int = 0

    def empty(self, *shape: int) -> np.ndarray:
        size = 8 * int(np.prod(shape))
        if self.used + size <= self.memory // 2:
            self.used += size
            return np.empty(shape)
        self.files += 1
        return np.lib.format.open_memmap(self.folder / f"{self.files}.npy", "w+", np.float64, shape)

    def parts(self, rows: int, width: int) -> Iterator[slice]:
        """`rows` rows in order, as many at a time as there is room for, `width` numbers to a row."""
        size = max(1, self.memory // (4 * 8 * max(1, width)))
        return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


@contextmanager
def room(memory: int) -> Iterator[Room]:
    with TemporaryDirectory(prefix="backstitch-") as folder:
        yield Room(Path(folder), memory)


class Compact(NamedTuple):
    """All that inner products of rows need: the rows X, or X X' where that is smaller."""

    array: np.ndarray
    wide: bool

    def products(self, part: slice) -> np.ndarray:
        """Rows `part` of X X'."""
        return np.asarray(self.array[part]) if self.wide else self.array[part] @ self.array.T

    def diagonal(self) -> np.ndarray:
        return self.array.diagonal().copy() if self.wide else np.einsum("ij,ij->i", self.array, self.array)


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


def compact(view: View, room: Room) -> Compact:
    samples, width = view.shape
    if width < samples:
        rows = room.empty(samples, width)
        for part, block in view.blocks():
            rows[part] = block
        return Compact(rows, wide=False)
    products = room.empty(samples, samples)
    for part, block in view.blocks():
        for other, against in view.blocks():
            products[part, other] = block @ against.T
            products[other, part] = products[part, other].T
            if other == part:
                break
    return Compact(products, wide=True)


def factor(view: View, room: Room) -> Factor:
    """Without loadings."""
    small = compact(view, room)
    if small.wide:
        squares, vectors = _eigen(np.asarray(small.array))
        basis = vectors
    else:
        squares, vectors = _eigen(inner(small.array, small.array, room))
        basis = _orthonormal(small.array, vectors / np.sqrt(squares), room)
    return Factor(basis, np.sqrt(squares), np.empty((len(squares), 0)))


def loaded(view: View, room: Room) -> Factor:
    """With loadings."""
    found = factor(view, room)
    loadings = room.empty(len(found.scales), view.shape[1])
    loadings[:] = 0
    for part, block in view.blocks():
        loadings += found.basis[part].T @ block
    return found._replace(loadings=loadings)


def inner(x: np.ndarray, y: np.ndarray, room: Room) -> np.ndarray:
    """X' Y, some rows at a time."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for part in room.parts(len(x), x.shape[1] + y.shape[1]):
        total += x[part].T @ y[part]
    return total


def _eigen(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are more than rounding noise, falling, and their vectors."""
    values, vectors = np.linalg.eigh(products)
    kept = values > CUTOFF**2 * values[-1]
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


def by_pairs(
    layers: Sequence[Activations],
    of: Of,
    memory: int,
    make: Callable[[View, Room], T],
    value: Callable[[T, T, Room], float],
    symmetric: bool,
) -> np.ndarray:
    """`value` of what `make` makes of each layer, once; NaN for pairs that have no view in common."""
    matrix = np.full((len(layers), len(layers)), np.nan)
    made: dict[tuple[int, str], T] = {}

    def layer(number: int, view: str) -> T:
        if (number, view) not in made:
            made[number, view] = make(View(layers[number], number, view, "centred", memory), kept)
        return made[number, view]

    with room(memory) as kept:
        pairs = list(combinations_with_replacement(range(len(layers)), 2))
        for one, other in pairs if symmetric else sorted({*pairs, *permutations(range(len(layers)), 2)}):
            view = view_of_pair(of, layers[one].shape[1:], layers[other].shape[1:])
            if view is not None:
                matrix[one, other] = value(layer(one, view), layer(other, view), kept)
    return np.where(np.tri(len(layers), k=-1, dtype=bool), matrix.T, matrix) if symmetric else matrix


@contextmanager
def compacts(
    layers: Sequence[Activations], of: Of, prepared: Prepared, memory: int
) -> Iterator[tuple[list[Compact], Room]]:
    """Every layer, compact."""
    with room(memory) as kept:
        yield [compact(View(layer, i, of, prepared, memory), kept) for i, layer in enumerate(layers)], kept
