from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.layers import Layers, mirrored
from pipeline.similarity.base import Facts, Index


@final
@dataclass(frozen=True)
class SharedSign(Index):
    """Share of samples whose first feature lies on the same side of its median in both layers."""

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, frozenset({"translation", "scaling"}))

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        seen = [layers.seen(number, "flattened") for number in range(len(layers))]
        firsts = [np.concatenate([block[:, 0] for _, block in layer.blocks()]) for layer in seen]
        above = np.stack([first > np.median(first) for first in firsts])
        for order in orders:
            yield mirrored((above[:, None] == above[:, order]).mean(2))
