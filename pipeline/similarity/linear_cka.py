from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, final

import numpy as np

from pipeline.factors import Compact, Room, inner
from pipeline.layers import Layers, Seen, by_pairs, mirrored
from pipeline.relations import agreement, centred, expect_four, refuse_equal
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Of


class Measured(NamedTuple):
    compact: Compact
    diagonal: np.ndarray
    norm: float

    def moved(self, order: np.ndarray, room: Room) -> "Measured":
        return self._replace(compact=self.compact.moved(order, room), diagonal=self.diagonal[order])


@final
@dataclass(frozen=True)
class LinearCKA(Index):
    """Linear CKA (Kornblith et al. 2019).

    With K = X X' of centred X, the biased one is <K, L> / (|K| |L|). The unbiased one puts Song et al.'s U-statistic
    of HSIC (2012, eq. 5) in place of each product (Nguyen et al. 2021); it is about 0 for unrelated layers of any
    width, and so at times below.
    """

    estimator: Literal["biased", "unbiased"]
    of: Of

    def facts(self) -> Facts:
        return Facts(True, (0.0 if self.estimator == "biased" else -1.0, 1.0), True, RIGID)

    def matrices(self, layers: Layers, orders: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        samples, unbiased = layers.samples, self.estimator == "unbiased"
        if unbiased:
            expect_four(samples)
        if self.of in ("flattened", "pooled") and _tabled(layers, self.of, len(orders)):
            tables = [small.products for small in layers.compacts(self.of, "centred")]
            return agreement(tables, orders, samples, layers.room, unbiased)
        if self.of in ("flattened", "pooled") and _narrow(layers, self.of):
            return self._together(layers, orders)
        return by_pairs(layers, self.of, orders, self._measured, self._cosine, symmetric=True)

    def _together(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """As `by_pairs`, of layers held side by side: X' Y of one and all before it are one matrix product."""
        seen = [layers.seen(number, self.of) for number in range(len(layers))]
        ends = np.cumsum([0, *(each.view.shape[1] for each in seen)])
        rows = layers.room.empty(layers.samples, int(ends[-1]))
        for each, (start, stop) in zip(seen, pairwise(ends), strict=True):
            for part, block in each.blocks():
                rows[part, start:stop] = block
        diagonals = np.stack([np.einsum("ij,ij->i", own, own) for own in np.split(rows, ends[1:-1], axis=1)])
        own = self._products(rows, ends, diagonals)
        for number, (square, diagonal) in enumerate(zip(own.diagonal(), diagonals, strict=True)):
            refuse_equal(number, square, float(diagonal @ diagonal))
        norms = np.sqrt(np.outer(own.diagonal(), own.diagonal()))
        for order in orders:
            same = np.array_equal(order, layers.as_they_are)
            cosines = np.minimum(1, (own if same else self._products(rows, ends, diagonals, order)) / norms)
            if same:
                np.fill_diagonal(cosines, 1)
            yield mirrored(cosines)

    def _products(
        self, rows: np.ndarray, ends: np.ndarray, diagonals: np.ndarray, order: np.ndarray | None = None
    ) -> np.ndarray:
        """<K, L> of each layer and each not before it, the second in another order of samples where one is given."""
        found = np.zeros((len(diagonals), len(diagonals)))
        for other, (start, stop) in enumerate(pairwise(ends)):
            own = rows[:, start:stop]
            moved = own if order is None else own[order]
            before = rows[:, :start].T @ moved
            squares = np.einsum("ij,ij->i", before, before)
            products = own.T @ moved  # by itself: of a matrix with itself, BLAS works out one half
            found[:other, other] = np.add.reduceat(squares, ends[:other]) if other else 0
            found[other, other] = np.vdot(products, products)
        if self.estimator == "biased":
            return found
        totals, others = diagonals.sum(1), diagonals if order is None else diagonals[:, order]
        return _unbiased(found, diagonals @ others.T, np.outer(totals, totals), len(rows))

    def _measured(self, seen: Seen) -> Measured:
        alone = Measured(seen.compact, seen.compact.diagonal(), 1.0)
        square = self._product(alone, alone, seen.room)
        refuse_equal(seen.number, square, float(alone.diagonal @ alone.diagonal))
        return alone._replace(norm=float(np.sqrt(square)))

    def _cosine(self, x: Measured, y: Measured, room: Room) -> float:
        if x is y:
            return 1.0
        return min(1.0, self._product(x, y, room) / (x.norm * y.norm))

    def _product(self, x: Measured, y: Measured, room: Room) -> float:
        """<K, L>; unbiased, N (N - 3) times the U-statistic, in which centred K and L leave only their diagonals."""
        product = inner_of_products(x.compact, y.compact, room)
        if self.estimator == "biased":
            return product
        shared, totals = x.diagonal @ y.diagonal, x.diagonal.sum() * y.diagonal.sum()
        return float(_unbiased(*np.atleast_1d(product, shared, totals), samples=len(x.diagonal))[0])


def _unbiased(products: np.ndarray, shared: np.ndarray, totals: np.ndarray, samples: int) -> np.ndarray:
    """N (N - 3) times the U-statistic: what centred K and L leave of hollow ones are their diagonals, negative."""
    return centred(products - shared, shared, totals, samples, unbiased=True)


def _tabled(layers: Layers, of: Of, orders: int) -> bool:
    """Whether X X' of all layers costs less than X' Y of all pairs, which wants to be made anew for every order.

    Counted in multiplications a sample. Where there is no room for X X', it is made anew as well, twice.
    """
    samples, number = layers.samples, len(layers)
    features = sum(min(layers.seen(each, of).view.shape) for each in range(number))
    made = 1 if layers.room.fits(samples * (samples + 1) // 2, number) else 2 * orders
    return samples * (made * features + orders * number**2 / 2) <= orders * features**2 / 2


def _narrow(layers: Layers, of: Of) -> bool:
    """Whether each is whole and has fewer features than samples, and memory holds all of them twice."""
    widths = [layers.seen(number, of).view.shape[1] for number in range(len(layers))]
    return layers.whole is None and max(widths) < layers.samples and layers.room.fits(layers.samples, 2 * sum(widths))


def inner_of_products(x: Compact, y: Compact, room: Room) -> float:
    """<X X', Y Y'>, from X' Y where both are narrow."""
    if not x.wide and not y.wide:
        products = inner(x.array, y.array, room)
        return float(np.vdot(products, products))
    samples = len(x.array)
    return sum(float(np.vdot(x.products(part), y.products(part))) for part in room.parts(samples, 2 * samples))
