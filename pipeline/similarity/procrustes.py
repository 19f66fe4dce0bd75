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
class Procrustes(Index):
    """Distance that is left after the best rotation, of layers that are centred and scaled to norm 1.

    With s the sum of the singular values of X' Y, `squared` is 2 - 2 s (Ding et al. 2021) and `angular` arccos s
    (Williams et al. 2021). Layers of unequal widths are compared as if the narrower one had features of zeros.
    """

    form: Literal["squared", "angular"]
    of: Of

    def facts(self) -> Facts:
        return Facts(False, (0.0, 2.0 if self.form == "squared" else np.pi / 2), True, RIGID)

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        return by_factors(layers, self.of, orders, factored, self._distance, symmetric=True)

    def _distance(self, x: Factor, y: Factor, room: Room) -> float:
        crossed = x.scales[:, None] * inner(x.basis, y.basis, room) * y.scales
        alike = np.linalg.svd(crossed, compute_uv=False).sum()
        alike = min(1.0, alike / np.linalg.norm(x.scales) / np.linalg.norm(y.scales))
        return float(2 - 2 * alike if self.form == "squared" else np.arccos(alike))
