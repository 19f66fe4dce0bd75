from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import compacts
from pipeline.relations import cosines, expect_others, nearest, strips
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

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        expect_others(self.k, layers[0].shape[0])
        total = np.zeros((len(layers), len(layers)))
        with compacts(layers, self.of, "cosine", memory) as (small, room):
            for part in strips(small, room):
                cosine = [layer.products(part) for layer in small]
                near = [nearest(table, part, self.k) for table in cosine]
                kept = [(c - c.mean(1, keepdims=True)) * n for c, n in zip(cosine, near, strict=True)]
                flat = np.stack([table.ravel() for table in kept])
                total += flat @ flat.T
        return cosines(total, np.full(len(layers), float(self.k * layers[0].shape[0])))
