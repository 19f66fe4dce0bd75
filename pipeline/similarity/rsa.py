from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, final

import numpy as np
from scipy.stats import kendalltau, rankdata

from pipeline.arrays import Activations
from pipeline.factors import Compact, Room, compacts
from pipeline.relations import DIGITS, apart, distances, refuse_equal
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


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

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        prepared = "centred" if self.dissimilarity == "euclidean" else self.dissimilarity
        with compacts(layers, self.of, prepared, memory) as (small, room):
            found = [self._compared(i, layer, room) for i, layer in enumerate(small)]
            compare = _tau if self.comparison == "kendall" else np.vdot
            matrix = np.eye(len(layers))
            for one, other in combinations(range(len(layers)), 2):
                matrix[one, other] = matrix[other, one] = compare(found[one], found[other])
        return matrix

    def _compared(self, number: int, layer: Compact, room: Room) -> np.ndarray:
        """A layer's dissimilarities, or their ranks, of mean 0 and norm 1: products of these are correlations."""
        found = self._dissimilarities(layer, room)
        if self.comparison != "pearson":
            found /= found.max() or 1
            found[:] = rankdata(np.round(found, DIGITS))
        before = float(np.vdot(found, found))
        found -= found.mean()
        square = float(np.vdot(found, found))
        refuse_equal(number, square, before)
        found /= np.sqrt(square)
        return found

    def _dissimilarities(self, layer: Compact, room: Room) -> np.ndarray:
        diagonal = layer.diagonal()
        if self.dissimilarity == "euclidean":
            return apart(layer, room, lambda part: distances(layer, diagonal, part))
        return apart(layer, room, lambda part: 1 - layer.products(part))


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.asarray(kendalltau(one, other))[0])
