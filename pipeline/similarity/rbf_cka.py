from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, final

import numpy as np

from pipeline.factors import Compact
from pipeline.layers import Layers
from pipeline.relations import agreement, apart, distances, expect_four
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import LayerError, Whole


@final
@dataclass(frozen=True)
class RBFCKA(Index):
    """CKA of the kernel exp(-d² / 2 σ²), σ being `bandwidth` times the layer's median distance.

    (Kornblith et al. 2019.) The median is of all pairs of different samples. Unbiased is as in `linear_cka`.
    """

    bandwidth: float
    estimator: Literal["biased", "unbiased"]
    of: Whole

    def __post_init__(self) -> None:
        if not self.bandwidth > 0:
            raise ValueError(f"bandwidth: is {self.bandwidth:g}; it should be above 0")

    def facts(self) -> Facts:
        return Facts(True, (0.0 if self.estimator == "biased" else -1.0, 1.0), True, RIGID)

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        samples, unbiased = layers.samples, self.estimator == "unbiased"
        if unbiased:
            expect_four(samples)
        tables = []
        for number, layer in enumerate(layers.compacts(self.of, "centred")):
            table = partial(distances, layer, layer.diagonal())
            width = self._width(number, apart(samples, layers.room, table))
            tables.append(partial(_kernel, layer, layer.diagonal(), width))
        return agreement(tables, orders, samples, layers.room, unbiased)

    def _width(self, number: int, found: np.ndarray) -> float:
        middle = [(len(found) - 1) // 2, len(found) // 2]
        found.partition(middle)
        median = float(found[middle].mean())
        if not median > 0:
            raise LayerError(number, "has most of its samples equal; their median distance is no bandwidth")
        return self.bandwidth * median


def _kernel(layer: Compact, diagonal: np.ndarray, width: float, part: np.ndarray) -> np.ndarray:
    return np.exp(-((distances(layer, diagonal, part) / width) ** 2) / 2)
