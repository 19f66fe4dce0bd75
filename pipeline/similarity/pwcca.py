from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from pipeline.factors import Factor, Room, inner
from pipeline.layers import Layers, by_factors, loaded
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Of

TIED = 1e-7  # between canonical correlations: a rotation of their directions is rounding noise


@final
@dataclass(frozen=True)
class PWCCA(Index):
    """Canonical correlations weighted by how much of a layer's features they account for (Morcos et al. 2018).

    Direction h of layer X weighs Σ |<h, x>| over the features x. Two readings are in print:

    - `raghu`: weights of the directions that have a partner, min(d1, d2) of them (google/svcca); here the mean of
      both layers' weightings, so that order does not matter.
    - `ding`: weights of all d1 directions of the first layer, those without a partner correlating 0 (Ding et al. 2021).

    Where correlations are equal (1 in what two layers share; 0 of directions without a partner) any rotation of their
    directions would do, and give other weights: taken are the principal ones, so that there is one answer.
    """

    weights: Literal["raghu", "ding"]
    of: Of

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), self.weights == "raghu", RIGID - {"rotation"})

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        value = _both_ways if self.weights == "raghu" else _one_way
        return by_factors(layers, self.of, orders, loaded, value, symmetric=self.weights == "raghu")


def _both_ways(x: Factor, y: Factor, room: Room) -> float:
    if _everything(x) or _everything(y):
        return 1.0
    left, correlations, right = np.linalg.svd(inner(x.basis, y.basis, room), full_matrices=False)
    weights = _weights(left, correlations, x.loadings), _weights(right.T, correlations, y.loadings)
    return float(np.mean([w @ correlations / w.sum() for w in weights]))


def _one_way(x: Factor, y: Factor, room: Room) -> float:
    if _everything(y):
        return 1.0
    left, correlations, _ = np.linalg.svd(inner(x.basis, y.basis, room), full_matrices=False)
    weights = _weights(left, correlations, x.loadings)
    beside = x.loadings - left @ (left.T @ x.loadings)
    unpaired = _principal(beside)[: left.shape[0] - left.shape[1]]
    return float(weights @ correlations / (weights.sum() + unpaired.sum()))


def _everything(layer: Factor) -> bool:
    """Whether it spans all that centred rows can, so that every direction of another has a partner equal to it."""
    samples, rank = layer.basis.shape
    return rank == samples - 1


def _weights(directions: np.ndarray, correlations: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    accounted = directions.T @ loadings
    ends = np.flatnonzero(-np.diff(correlations) > TIED) + 1
    return np.concatenate([_principal(each) for each in np.split(accounted, ends)])


def _principal(accounted: np.ndarray) -> np.ndarray:
    """Weights of directions that nothing tells apart, once they are turned to the principal ones."""
    if len(accounted) == 1:
        return np.abs(accounted).sum(1)
    scales, features = np.linalg.svd(accounted, full_matrices=False)[1:]
    return scales * np.abs(features).sum(1)
