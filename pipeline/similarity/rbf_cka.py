from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import Compact, Room, compacts
from pipeline.relations import agreement, apart, distances, expect_four, strips
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


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

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples, unbiased = layers[0].shape[0], self.estimator == "unbiased"
        if unbiased:
            expect_four(samples)
        with compacts(layers, self.of, "centred", memory) as (small, room):
            diagonals = [layer.diagonal() for layer in small]
            widths = [self._width(i, *each, room) for i, each in enumerate(zip(small, diagonals, strict=True))]
            ready = list(zip(small, diagonals, widths, strict=True))
            tables = ((part, [_kernel(*each, part) for each in ready]) for part in strips(small, room))
            return agreement(tables, samples, unbiased)

    def _width(self, number: int, layer: Compact, diagonal: np.ndarray, room: Room) -> float:
        found = apart(layer, room, lambda part: distances(layer, diagonal, part))
        middle = [(len(found) - 1) // 2, len(found) // 2]
        found.partition(middle)
        median = float(found[middle].mean())
        if not median > 0:
            raise ValueError(f"layer {number} has most of its samples equal; their median distance is no bandwidth")
        return self.bandwidth * median


def _kernel(layer: Compact, diagonal: np.ndarray, width: float, part: slice) -> np.ndarray:
    return np.exp(-((distances(layer, diagonal, part) / width) ** 2) / 2)
