from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.factors import Factor, mean_correlation
from pipeline.layers import Layers, Seen, by_factors, factored
from pipeline.similarity.base import LINEAR, RIGID, Facts, Index
from pipeline.views import Of


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

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        return by_factors(layers, self.of, orders, self._leading, mean_correlation, symmetric=True)

    def _leading(self, seen: Seen) -> Factor:
        return factored(seen).leading(self.variance)
