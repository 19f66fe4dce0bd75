from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from pipeline.factors import Factor, Room, inner
from pipeline.layers import Layers, by_factors, factored
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Of


@final
@dataclass(frozen=True)
class LeastSquares(Index):
    """How well the best affine map takes one layer to the other: structural direct matching.

    `residual` is |Y - X W|² / |Y|² of centred X and Y over all samples, `r2` one less that: R² with features weighted
    by their variance. An invertible map of the first layer leaves it as it is; of the second, only a rigid one does.
    """

    form: Literal["residual", "r2"]
    of: Of

    def facts(self) -> Facts:
        return Facts(self.form == "r2", (0.0, 1.0), False, RIGID)

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        return by_factors(layers, self.of, orders, factored, self._of_pair, symmetric=False)

    def _of_pair(self, x: Factor, y: Factor, room: Room) -> float:
        explained = np.sum((inner(x.basis, y.basis, room) * y.scales) ** 2) / np.sum(y.scales**2)
        r2 = float(min(1.0, explained))
        return r2 if self.form == "r2" else 1 - r2
