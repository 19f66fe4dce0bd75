from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import Factor, Room, by_pairs, factor, inner
from pipeline.similarity.base import LINEAR, RIGID, Facts, Index
from pipeline.views import Of, View


@final
@dataclass(frozen=True)
class SVCCA(Index):
    """Mean canonical correlation of the leading directions of each layer (Raghu et al. 2017, who keep 0.99).

    Kept are the fewest directions that hold `variance` of the layer's variance, after centring.
    """

    variance: float
    of: Of

    def __post_init__(self) -> None:
        if not 0 < self.variance <= 1:
            raise ValueError(f"variance: is {self.variance:g}; it should be above 0 and at most 1")

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, LINEAR if self.variance == 1 else RIGID)

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        return by_pairs(layers, self.of, memory, self._leading, _mean, symmetric=True)

    def _leading(self, view: View, room: Room) -> Factor:
        return factor(view, room).leading(self.variance)


def _mean(x: Factor, y: Factor, room: Room) -> float:
    return float(np.linalg.svd(inner(x.basis, y.basis, room), compute_uv=False).mean())
