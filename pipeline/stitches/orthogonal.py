from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.moments import Map, Moments, Source
from pipeline.stitches.base import Core, Stitch, affine, put


@final
class Orthogonal(Stitch):
    """A rotation (or reflection) and a shift: angles and lengths stay, so nothing can be amplified or hidden."""

    def core(self, inputs: int, outputs: int) -> "OrthogonalCore":
        if outputs < inputs:
            raise ValueError(f"an orthogonal map cannot take {inputs} features to {outputs} and keep lengths")
        return OrthogonalCore(inputs, outputs)


class OrthogonalCore(Core):
    """A fixed orthonormal frame, turned by the exponential of what is learnt, which is skew-symmetric."""

    frame: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("frame", torch.linalg.qr(torch.randn(outputs, inputs, dtype=torch.float64))[0].float())
        self.turn = nn.Parameter(torch.zeros(inputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def become(self, found: Map, source: Source | None = None) -> None:
        put(self.frame, found.weight)
        put(self.turn, np.zeros(self.turn.shape))
        put(self.bias, found.bias)

    def closest(self, moments: Moments, free: Map) -> Map:
        return moments.orthogonal()

    def forward(self, activations: Tensor) -> Tensor:
        return affine(activations, self.frame @ torch.matrix_exp(self.turn - self.turn.T), self.bias)
