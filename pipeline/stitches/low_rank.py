from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.moments import Map, Moments, Source
from pipeline.stitches.base import Affine, Core, Stitch, affine, put


@final
@dataclass(frozen=True)
class LowRank(Stitch):
    """One affine map whose matrix has at most `rank`: what can pass is a subspace of so many directions."""

    rank: int

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank: is {self.rank}; it should be 1 or more")

    def core(self, inputs: int, outputs: int) -> "LowRankCore":
        if self.rank > min(inputs, outputs):
            raise ValueError(f"a rank of {self.rank} is above the {min(inputs, outputs)} that a map here can have")
        return LowRankCore(inputs, outputs, self.rank)


class LowRankCore(Core):
    """Into `rank` directions and out of them."""

    def __init__(self, inputs: int, outputs: int, rank: int) -> None:
        super().__init__()
        self.rank = rank
        whole = Affine(inputs, outputs)
        self.down = nn.Parameter(torch.empty(rank, inputs))
        self.up = nn.Parameter(torch.empty(outputs, rank))
        self.bias = nn.Parameter(whole.bias.detach())
        self._factor(whole.weight.detach().double().numpy())

    def become(self, found: Map, source: Source | None = None) -> None:
        self._factor(found.weight)
        put(self.bias, found.bias)

    def _factor(self, weight: np.ndarray) -> None:
        """The nearest of this rank, its size shared evenly, so that both factors learn at one rate."""
        left, sizes, right = np.linalg.svd(weight, full_matrices=False)
        rank, roots = len(self.down), np.sqrt(sizes)
        put(self.up, left[:, :rank] * roots[:rank])
        put(self.down, roots[:rank, None] * right[:rank])

    def closest(self, moments: Moments, free: Map) -> Map:
        return moments.reduced(len(self.down), free)

    def forward(self, activations: Tensor) -> Tensor:
        return affine(affine(activations, self.down, None), self.up, self.bias)
