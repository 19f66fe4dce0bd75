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
    """The first columns of a fixed frame, turned by the exponential of what is learnt, which is skew-symmetric.

    Descent reaches every such map where there are more outputs than inputs; where there are as many, it stays a
    rotation or a reflection, as it began. Weight decay draws it back to the frame it began with.
    """

    frame: Tensor
    keeps_all = True

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("frame", torch.linalg.qr(torch.randn(outputs, outputs, dtype=torch.float64))[0].float())
        self.turn = nn.Parameter(torch.zeros(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def become(self, found: Map, source: Source | None = None) -> None:
        whole = np.linalg.qr(found.weight, mode="complete")[0]
        whole[:, : found.weight.shape[1]] = found.weight
        put(self.frame, whole)
        put(self.turn, np.zeros(self.turn.shape))
        put(self.bias, found.bias)

    def closest(self, moments: Moments, free: Map) -> Map:
        return moments.orthogonal()

    def weight(self) -> Tensor:
        outputs, inputs = self.turn.shape
        turn = nn.functional.pad(self.turn, (0, outputs - inputs))
        return self.frame @ torch.matrix_exp(turn - turn.T)[:, :inputs]

    def forward(self, activations: Tensor) -> Tensor:
        return affine(activations, self.weight(), self.bias)
