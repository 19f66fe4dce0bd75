from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import compacts
from pipeline.relations import expect_others, nearest, strips
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class SecondOrderCosine(Index):
    """Whether samples are as similar to their neighbours in one layer as in the other (Hamilton et al. 2016).

    Of a sample's cosines to its k nearest in either layer, taken together, the cosine between the two layers; mean
    over samples. A sample at right angles to all of these counts 0.
    """

    k: int
    of: Whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k: is {self.k}; it should be 1 or more")

    def facts(self) -> Facts:
        return Facts(True, (-1.0, 1.0), True, RIGID - {"translation"})

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples = layers[0].shape[0]
        expect_others(self.k, samples)
        total = np.zeros((len(layers), len(layers)))
        with compacts(layers, self.of, "cosine", memory) as (small, room):
            for part in strips(small, room):
                cosine = [layer.products(part) for layer in small]
                near = [nearest(table, part, self.k) for table in cosine]
                for one, other in combinations_with_replacement(range(len(layers)), 2):
                    found = _alike(cosine[one], cosine[other], near[one] | near[other]).sum()
                    total[one, other] += found
                    total[other, one] = total[one, other]
        return total / samples


def _alike(one: np.ndarray, other: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Row by row, the cosine of what is kept of two tables."""
    products = (one * other * kept).sum(1)
    norms = np.sqrt((one**2 * kept).sum(1) * (other**2 * kept).sum(1))
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
