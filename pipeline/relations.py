"""Samples × samples, some rows at a time: distances, who is near whom, and how well two such tables agree."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pipeline.factors import Compact, Room

DIGITS = 12  # to which neighbours and dissimilarities are told apart: rounding noise orders nothing
NOISE = 1e-12  # of what it was: what is left of a sum after centring is rounding, if it is less
ZERO = 1e-13  # of squared lengths: a squared distance below it is that of equal samples


def strips(layers: Sequence[Compact], room: Room) -> list[slice]:
    """Rows to be held of all layers' tables at once."""
    samples = len(layers[0].array)
    return list(room.parts(samples, samples * len(layers)))


def distances(layer: Compact, diagonal: np.ndarray, part: slice) -> np.ndarray:
    """Euclidean, of samples `part` to all; `diagonal` is the layer's."""
    lengths = diagonal[part, None] + diagonal
    squares = lengths - 2 * layer.products(part)
    return np.sqrt(np.where(squares > ZERO * lengths, squares, 0))


def apart(layer: Compact, room: Room, of: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The entries above the diagonal of a table of `of`'s strips, row by row."""
    samples = len(layer.array)
    found, filled = room.empty(samples * (samples - 1) // 2), 0
    for part in strips([layer], room):
        for row, entries in zip(range(part.start, part.stop), of(part), strict=True):
            found[filled : filled + samples - 1 - row] = entries[row + 1 :]
            filled += samples - 1 - row
    return found


def nearest(similarities: np.ndarray, part: slice, k: int) -> np.ndarray:
    """For each sample of `part`, its k most similar others, True among all; of equal ones, the earlier."""
    rounded = np.round(similarities, DIGITS)
    rounded[np.arange(len(rounded)), np.arange(part.start, part.stop)] = -np.inf
    near = np.zeros(rounded.shape, bool)
    np.put_along_axis(near, np.argsort(-rounded, axis=1, kind="stable")[:, :k], True, 1)
    return near


def expect_others(k: int, samples: int) -> None:
    if k >= samples:
        raise ValueError(f"k: is {k}; it should be below the number of samples, {samples}")


def expect_four(samples: int) -> None:
    if samples < 4:
        raise ValueError(f"estimator: is unbiased of {samples} samples; it should be of 4 or more")


def agreement(tables: Iterable[tuple[slice, list[np.ndarray]]], samples: int, unbiased: bool) -> np.ndarray:
    """Of all pairs of symmetric tables, given in strips: the cosine of the two once their rows and columns are centred.

    Unbiased is the U-statistic, with the diagonals left out (Song et al. 2012, eq. 5; Székely & Rizzo 2013).
    Centring is done on the sums, so one pass over the strips is all.
    """
    products, sums = np.zeros((0, 0)), []
    for part, strip in tables:
        if unbiased:
            for table in strip:
                table[np.arange(len(table)), np.arange(part.start, part.stop)] = 0
        flat = np.stack([table.ravel() for table in strip])
        products = flat @ flat.T + (products if products.size else 0)
        sums.append(np.stack([table.sum(1) for table in strip]))
    rows = np.concatenate(sums, 1)
    return cosines(centred(products, rows, samples, unbiased), np.diag(products))


def centred(products: np.ndarray, rows: np.ndarray, samples: int, unbiased: bool) -> np.ndarray:
    """Inner products of centred tables, from those of the tables as they are and their sums of rows."""
    totals = np.outer(rows.sum(1), rows.sum(1))
    if unbiased:
        return products + totals / ((samples - 1) * (samples - 2)) - 2 * rows @ rows.T / (samples - 2)
    return products + totals / samples**2 - 2 * rows @ rows.T / samples


def cosines(products: np.ndarray, before: np.ndarray) -> np.ndarray:
    """From centred inner products; `before` are each table's with itself as it was."""
    squares = np.diag(products)
    for number, (square, was) in enumerate(zip(squares, before, strict=True)):
        refuse_equal(number, square, was)
    return products / np.sqrt(np.outer(squares, squares))


def refuse_equal(number: int, square: float, before: float) -> None:
    if not square > NOISE * before:
        raise ValueError(f"layer {number} has all samples equally far apart; it cannot be compared")
