from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, final

import numpy as np
from scipy.stats import kendalltau, rankdata

from pipeline.factors import Compact, Room
from pipeline.layers import Layers, mirrored
from pipeline.relations import DIGITS, Rows, Tables, apart, distances, refuse_equal, square
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole

_BINS, _BLOCK = 4096, 2**20  # ranges that are told apart, and numbers that are looked through at a time
_SORTING = 7 * 8  # bytes that ranking takes for each number


@final
@dataclass(frozen=True)
class RSA(Index):
    """Correlation of the dissimilarities between samples in two layers (Kriegeskorte, Mur & Bandettini 2008).

    Each pair of different samples counts once. `correlation` and `cosine` are one less those of two samples' features,
    of which no mean over samples is taken off. Kendall's tau is tau-b. Ranks are of dissimilarities told apart to
    12 digits of the largest, so that rounding noise ranks nothing.
    """

    dissimilarity: Literal["correlation", "euclidean", "cosine"]
    comparison: Literal["spearman", "pearson", "kendall"]
    of: Whole

    def facts(self) -> Facts:
        holds = {"correlation": {"scaling"}, "cosine": {"rotation", "scaling"}, "euclidean": RIGID}
        return Facts(True, (-1.0, 1.0), True, frozenset(holds[self.dissimilarity]))

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        prepared = "centred" if self.dissimilarity == "euclidean" else self.dissimilarity
        small, room = layers.compacts(self.of, prepared), layers.room
        found = [self._compared(number, layer, room) for number, layer in enumerate(small)]
        tables = [square(each, layers.samples) for each in found]
        if self.comparison == "kendall":
            return _taus(found, tables, orders, room)
        ready = Tables(tables, layers.samples, room, symmetric=True)
        return (ready.products(order) / 2 for order in orders)

    def _compared(self, number: int, layer: Compact, room: Room) -> np.ndarray:
        """A layer's dissimilarities, or their ranks, of mean 0 and norm 1: products of these are correlations."""
        found = self._dissimilarities(layer, room)
        if self.comparison != "pearson":
            found /= found.max() or 1
            np.round(found, DIGITS, out=found)
            rank(found, room.memory)
        before = float(np.vdot(found, found))
        found -= found.mean()
        after = float(np.vdot(found, found))
        refuse_equal(number, after, before)
        found /= np.sqrt(after)
        return found

    def _dissimilarities(self, layer: Compact, room: Room) -> np.ndarray:
        euclidean = self.dissimilarity == "euclidean"
        table = partial(distances, layer, layer.diagonal()) if euclidean else partial(_unlike, layer)
        return apart(len(layer.array), room, table)


def rank(found: np.ndarray, memory: int) -> None:
    """In place of each number, from 0 to 1, its rank among all; of equal ones the mean of theirs.

    A range of numbers at a time, so many as there is room to sort; what is ranked already is below 0 until all are.
    """
    edges = np.linspace(0, 1, _BINS + 1)
    together = np.cumsum(np.histogram(found, edges)[0]) // max(1, memory // _SORTING)
    firsts = np.flatnonzero(np.diff(together, prepend=-1))
    below = 0
    for low, high in pairwise([*edges[firsts], np.inf]):
        places = np.concatenate([
            start + np.flatnonzero((part >= low) & (part < high))
            for start, part in ((start, found[start : start + _BLOCK]) for start in range(0, len(found), _BLOCK))
        ])  # fmt: skip
        found[places] = -(below + rankdata(found[places]))
        below += len(places)
    np.negative(found, out=found)


def _unlike(layer: Compact, part: np.ndarray) -> np.ndarray:
    return 1 - layer.products(part)


def _taus(
    found: list[np.ndarray], tables: list[Rows], orders: Iterable[np.ndarray], room: Room
) -> Iterator[np.ndarray]:
    for order in orders:
        matrix = np.zeros((len(found), len(found)))
        for other, table in enumerate(tables):
            moved = apart(len(order), room, lambda part, table=table, order=order: table(order[part])[:, order])
            for one in range(other + 1):
                matrix[one, other] = float(np.asarray(kendalltau(found[one], moved))[0])
        yield mirrored(matrix)
