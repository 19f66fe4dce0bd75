"""Samples × samples, some rows at a time: distances, who is near whom, and how well two such tables agree."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from pipeline.factors import Compact, Room
from pipeline.layers import mirrored
from pipeline.views import LayerError

DIGITS = 12  # to which neighbours and dissimilarities are told apart: rounding noise orders nothing
NOISE = 1e-12  # of what it was: what is left of a sum after centring is rounding, if it is less
ZERO = 1e-13  # of squared lengths: a squared distance below it is that of equal samples
BLOCK = 2**14  # entries of held tables that are multiplied at a time: few enough to stay in a processor's cache

Rows = Callable[[np.ndarray], np.ndarray]  # of a table of samples × samples, those asked for


class FewSamplesError(ValueError):
    """An option that asks for more samples than there are."""


def distances(layer: Compact, diagonal: np.ndarray, part: slice | np.ndarray) -> np.ndarray:
    """Euclidean, of samples `part` to all; `diagonal` is the layer's."""
    lengths = diagonal[part, None] + diagonal
    squares = lengths - 2 * layer.products(part)
    return np.sqrt(np.where(squares > ZERO * lengths, squares, 0))


def apart(samples: int, room: Room, table: Rows) -> np.ndarray:
    """The entries of a table above its diagonal, row by row."""
    found, filled = room.empty(samples * (samples - 1) // 2), 0
    for part in room.parts(samples, samples):
        rows = np.arange(part.start, part.stop)
        entries = table(rows)[np.arange(samples) > rows[:, None]]
        found[filled : filled + len(entries)] = entries
        filled += len(entries)
    return found


def square(entries: np.ndarray, samples: int) -> Rows:
    """The symmetric table whose entries above its diagonal are these; below the diagonal the same, on it 0."""

    def rows(part: np.ndarray) -> np.ndarray:
        low, high = np.minimum(part[:, None], np.arange(samples)), np.maximum(part[:, None], np.arange(samples))
        places = low * (2 * samples - low - 1) // 2 + high - low - 1
        return np.where(low == high, 0.0, entries[np.minimum(places, len(entries) - 1)])

    return rows


def nearest(similarities: np.ndarray, part: np.ndarray, k: int) -> np.ndarray:
    """For each sample of `part`, 1 for its k most similar others among all, and 0 for the rest.

    Where several are equally similar and not all of them have a place, each has its part of the places there are: an
    order of samples would be shared by all layers, and pass for something that they have in common.
    """
    rounded = np.round(similarities, DIGITS)
    rounded[np.arange(len(rounded)), part] = -np.inf
    last = np.partition(rounded, -k, axis=1)[:, -k, None]
    nearer, tied = rounded > last, rounded == last
    return nearer + tied * ((k - nearer.sum(1)) / tied.sum(1))[:, None]


def expect_others(k: int, samples: int) -> None:
    if k >= samples:
        raise FewSamplesError(f"k: is {k}; it should be below the number of samples, {samples}")


def expect_four(samples: int) -> None:
    if samples < 4:
        raise FewSamplesError(f"estimator: is unbiased of {samples} samples; it should be of 4 or more")


def held(table: Rows, samples: int, room: Room) -> Rows:
    """The same table, worked out once if there is room to keep it."""
    if not room.fits(samples, samples):
        return table
    kept = room.empty(samples, samples)
    for part in room.parts(samples, 2 * samples):
        kept[part] = table(np.arange(part.start, part.stop))
    return kept.__getitem__


class Tables:
    """A table of samples × samples for each layer, and their inner products.

    Where there is room they are kept an entry a row and a layer a column, of symmetric ones the half above the
    diagonal: to reorder the samples is then to move whole rows, and all pairs of layers are one product.
    """

    def __init__(self, tables: Sequence[Rows], samples: int, room: Room, symmetric: bool) -> None:
        self._tables, self._samples, self._room, self._symmetric = tables, samples, room, symmetric
        self.sums = np.empty((len(tables), samples))  # of each row
        self.squares = np.zeros(len(tables))  # of all entries, added up
        entries = samples * (samples + 1) // 2 if symmetric else samples**2
        self._kept = room.empty(entries, len(tables)) if room.fits(entries, len(tables)) else None
        filled = 0
        for part in room.parts(samples, 4 * samples * len(tables)):
            rows = np.arange(part.start, part.stop)
            halves = [self._summed(number, rows) for number in range(len(tables))]
            if self._kept is not None:
                self._kept[filled : filled + len(halves[0])] = np.stack(halves, 1)
                filled += len(halves[0])

    def _summed(self, number: int, rows: np.ndarray) -> np.ndarray:
        """The entries to be kept of some rows, which are added up on the way."""
        block = self._tables[number](rows)
        self.sums[number, rows] = block.sum(1)
        self.squares[number] += np.vdot(block, block)
        return block[:0] if self._kept is None else self._half(block, rows)

    def _half(self, block: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Of a symmetric table the upper half, weighted so that its inner products are those of the whole."""
        if not self._symmetric:
            return block.ravel()
        others = np.arange(self._samples)
        return (block * np.where(others == rows[:, None], 1, np.sqrt(2)))[others >= rows[:, None]]

    def products(self, order: np.ndarray) -> np.ndarray:
        """Of each table with each one whose samples are in `order`."""
        found = self._streamed(order) if self._kept is None else self._moved(self._kept, order)
        return mirrored(found) if self._symmetric else found

    def _moved(self, kept: np.ndarray, order: np.ndarray) -> np.ndarray:
        total, filled, size = np.zeros((kept.shape[1],) * 2), 0, max(1, BLOCK // self._samples)
        moved = np.empty((size * self._samples, kept.shape[1]))  # once: memory that is asked for anew is slow to touch
        for start in range(0, self._samples, size):
            places = self._places(order, np.arange(start, min(start + size, self._samples)))
            there = kept.take(places, 0, moved[: len(places)], "clip")  # all are inside; "raise" would copy
            total += kept[filled : filled + len(places)].T @ there
            filled += len(places)
        return total

    def _places(self, order: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Where the entries of `rows` come from."""
        if not self._symmetric:
            return (order[rows, None] * self._samples + order).ravel()
        low, high = np.minimum(order[rows, None], order), np.maximum(order[rows, None], order)
        return (low * (2 * self._samples - low - 1) // 2 + high)[np.arange(self._samples) >= rows[:, None]]

    def _streamed(self, order: np.ndarray) -> np.ndarray:
        total = np.zeros((len(self._tables),) * 2)
        for part in self._room.parts(self._samples, 2 * self._samples * len(self._tables)):
            rows = np.arange(part.start, part.stop)
            one = np.stack([table(rows).ravel() for table in self._tables])
            other = np.stack([table(order[rows])[:, order].ravel() for table in self._tables])
            total += one @ other.T
        return total


def agreement(
    tables: Sequence[Rows], orders: Iterable[np.ndarray], samples: int, room: Room, unbiased: bool
) -> Iterator[np.ndarray]:
    """For all pairs of symmetric tables: the cosine of the two once their rows and columns are centred.

    Unbiased is the U-statistic, with the diagonals left out (Song et al. 2012, eq. 5; Székely & Rizzo 2013).
    Centring is done on the sums, so the tables are taken as they are.
    """
    ready = Tables([_hollow(table) for table in tables] if unbiased else tables, samples, room, symmetric=True)
    totals = ready.sums.sum(1)
    squares = centred(ready.squares, (ready.sums**2).sum(1), totals**2, samples, unbiased)
    for number, (square, before) in enumerate(zip(squares, ready.squares, strict=True)):
        refuse_equal(number, square, before)
    for order in orders:
        sums = ready.sums @ ready.sums[:, order].T
        products = centred(ready.products(order), sums, np.outer(totals, totals), samples, unbiased)
        yield mirrored(np.clip(products / np.sqrt(np.outer(squares, squares)), -1, 1))


def _hollow(table: Rows) -> Rows:
    """With zeros on its diagonal."""

    def rows(part: np.ndarray) -> np.ndarray:
        found = np.array(table(part))
        found[np.arange(len(part)), part] = 0
        return found

    return rows


def centred(products: np.ndarray, sums: np.ndarray, totals: np.ndarray, samples: int, unbiased: bool) -> np.ndarray:
    """Inner products of centred tables, from those of the tables, of the sums of their rows, and of their totals."""
    if unbiased:
        return products + totals / ((samples - 1) * (samples - 2)) - 2 * sums / (samples - 2)
    return products + totals / samples**2 - 2 * sums / samples


def refuse_equal(number: int, square: float, before: float) -> None:
    if not square > NOISE * before:
        raise LayerError(number, "has all samples equally far apart; it cannot be compared")
