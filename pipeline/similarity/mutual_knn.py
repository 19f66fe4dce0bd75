from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, final

import numpy as np

from pipeline.factors import Compact
from pipeline.layers import Layers, mirrored
from pipeline.relations import Tables, distances, expect_others, nearest
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class MutualKNN(Index):
    """Share of a sample's k nearest neighbours that it has in both layers, mean over samples (Huh et al. 2024).

    `cosine` is their choice. Neighbours equally near, to 12 digits, share the places that there are for them; the sum
    of products of what each layer has is then divided as a cosine is, which without ties is by k for each sample.
    """

    k: int
    distance: Literal["cosine", "euclidean"]
    of: Whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k: is {self.k}; it should be 1 or more")

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, RIGID if self.distance == "euclidean" else RIGID - {"translation"})

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        expect_others(self.k, layers.samples)
        compacts = layers.compacts(self.of, "cosine" if self.distance == "cosine" else "centred")
        tables = [partial(self._near, layer, layer.diagonal()) for layer in compacts]
        ready = Tables(tables, layers.samples, layers.room, symmetric=False)
        for order in orders:
            yield mirrored(ready.products(order) / np.sqrt(np.outer(ready.squares, ready.squares)))

    def _near(self, layer: Compact, diagonal: np.ndarray, part: np.ndarray) -> np.ndarray:
        return nearest(self._nearness(layer, diagonal, part), part, self.k)

    def _nearness(self, layer: Compact, diagonal: np.ndarray, part: np.ndarray) -> np.ndarray:
        if self.distance == "cosine":
            return layer.products(part)
        return -distances(layer, diagonal, part) / np.sqrt(diagonal.mean())
