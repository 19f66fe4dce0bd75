from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import Compact, compacts
from pipeline.relations import distances, expect_others, nearest, strips
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class MutualKNN(Index):
    """Share of a sample's k nearest neighbours that it has in both layers, mean over samples (Huh et al. 2024).

    `cosine` is their choice. Of neighbours equally near, to 12 digits, the earlier sample counts.
    """

    k: int
    distance: Literal["cosine", "euclidean"]
    of: Whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k: is {self.k}; it should be 1 or more")

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, RIGID if self.distance == "euclidean" else RIGID - {"translation"})

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples = layers[0].shape[0]
        expect_others(self.k, samples)
        shared = np.zeros((len(layers), len(layers)))
        with compacts(layers, self.of, "cosine" if self.distance == "cosine" else "centred", memory) as (small, room):
            ready = [(layer, layer.diagonal()) for layer in small]
            for part in strips(small, room):
                near = np.stack([nearest(self._nearness(*each, part), part, self.k).ravel() for each in ready])
                shared += near.astype(np.float64) @ near.T
        return shared / (self.k * samples)

    def _nearness(self, layer: Compact, diagonal: np.ndarray, part: slice) -> np.ndarray:
        if self.distance == "cosine":
            return layer.products(part)
        return -distances(layer, diagonal, part) / np.sqrt(diagonal.mean())
