from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from pipeline.factors import Compact
from pipeline.layers import Layers, mirrored
from pipeline.relations import Tables, expect_others, nearest, refuse_equal
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class CKNNA(Index):
    """CKA over those pairs of samples only that are among each other's k nearest in both layers (Huh et al. 2024).

    Of cosines, each sample's mean taken off, products are summed over i and j where j is one of i's k nearest in both
    layers; then divided by the roots of the same sums of each layer with itself. Their equations are followed; their
    published code masks before it centres, which is another number.
    """

    k: int
    of: Whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k: is {self.k}; it should be 1 or more")

    def facts(self) -> Facts:
        return Facts(True, (-1.0, 1.0), True, RIGID - {"translation"})

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        expect_others(self.k, layers.samples)
        tables = [partial(self._kept, layer) for layer in layers.compacts(self.of, "cosine")]
        ready = Tables(tables, layers.samples, layers.room, symmetric=False)
        for number, square in enumerate(ready.squares):
            refuse_equal(number, square, float(self.k * layers.samples))
        for order in orders:
            yield mirrored(ready.products(order) / np.sqrt(np.outer(ready.squares, ready.squares)))

    def _kept(self, layer: Compact, part: np.ndarray) -> np.ndarray:
        cosines = layer.products(part)
        return (cosines - cosines.mean(1, keepdims=True)) * nearest(cosines, part, self.k)
