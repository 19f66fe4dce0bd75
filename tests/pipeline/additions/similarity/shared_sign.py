from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.similarity.base import Facts, Index


@final
@dataclass(frozen=True)
class SharedSign(Index):
    """Share of samples whose first feature lies on the same side of its median in both layers."""

    def facts(self) -> Facts:
        return Facts(True, (0.0, 1.0), True, frozenset({"translation", "scaling"}))

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        firsts = [layer.read(0, layer.shape[0]).reshape(layer.shape[0], -1)[:, 0] for layer in layers]
        above = np.stack([first > np.median(first) for first in firsts])
        return (above[:, None] == above).mean(2)
