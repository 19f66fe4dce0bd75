from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.factors import mean_correlation
from pipeline.layers import Layers, by_factors, factored
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

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        return by_factors(layers, self.of, orders, factored, mean_correlation, symmetric=True)
