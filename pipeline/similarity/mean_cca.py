from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import Factor, Room, by_pairs, factor, inner
from pipeline.similarity.base import LINEAR, Facts, Index
from pipeline.views import Of


@final
@dataclass(frozen=True)
class MeanCCA(Index):
    """Mean of the canonical correlations, of which there are as many as the smaller rank (Hotelling 1936).

    It nears 1 for any two layers whose ranks near the number of samples.
    """

    of: Of

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, LINEAR)

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        return by_pairs(layers, self.of, memory, factor, _mean, symmetric=True)


def _mean(x: Factor, y: Factor, room: Room) -> float:
    return float(np.linalg.svd(inner(x.basis, y.basis, room), compute_uv=False).mean())
