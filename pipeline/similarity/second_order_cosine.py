from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from pipeline.factors import Compact
from pipeline.layers import Layers, mirrored
from pipeline.relations import Rows, expect_others, held, nearest
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

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        samples, room = layers.samples, layers.room
        expect_others(self.k, samples)
        small = layers.compacts(self.of, "cosine")
        cosines: list[Rows] = [held(layer.products, samples, room) for layer in small]
        nears: list[Rows] = [held(partial(_near, self.k, layer), samples, room) for layer in small]
        for order in orders:
            total = np.zeros((len(layers), len(layers)))
            for part in room.parts(samples, 16 * samples * len(layers)):
                rows = np.arange(part.start, part.stop)
                total += _alike(_stack(cosines, nears, rows), _stack(cosines, nears, order[rows], order))
            yield mirrored(total) / samples


def _near(k: int, layer: Compact, part: np.ndarray) -> np.ndarray:
    return nearest(layer.products(part), part, k)


def _stack(
    cosines: Sequence[Rows], nears: Sequence[Rows], rows: np.ndarray, order: np.ndarray | slice = slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """Of some samples, each layer's cosines to all, and which of these are to neighbours."""
    return (
        np.stack([table(rows)[:, order] for table in cosines], 1),
        np.stack([table(rows)[:, order] for table in nears], 1),
    )


def _alike(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Summed over samples, the cosine of what each layer of one and each of the other have near in either.

    That is what the one has near, and what the other has near and the one has not: sums of no common terms.
    """
    (x, near_x), (y, near_y) = one, (other[0].transpose(0, 2, 1), other[1].transpose(0, 2, 1))
    far_x, far_y = 1 - near_x, 1 - near_y
    products = (x * near_x) @ y + (x * far_x) @ (y * near_y)
    of_x = (x**2 * near_x).sum(2)[:, :, None] + (x**2 * far_x) @ near_y
    of_y = (y**2 * near_y).sum(1)[:, None, :] + near_x @ (y**2 * far_y)
    norms = np.sqrt(of_x * of_y)
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0).sum(0)
