"""The contract of stitches, and the affine map that most of them are or contain."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pipeline.arrays import Shape


class Stitch(ABC):
    """A variant's fields are its options. Shapes are without the batch axis: (C, H, W), (T, D) or (D,)."""

    @abstractmethod
    def build(self, source: Shape, target: Shape) -> nn.Module:
        """The map from tensors of shape `source` to `target`, initialised from torch's global generator.

        Raises ValueError, saying why, where this kind of map cannot join them.
        """


class Affine(nn.Module):
    """The same affine map of the features at every place: a 1×1 convolution, or a linear layer on every token."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        bound = 1 / math.sqrt(inputs)  # as torch initialises its convolutions
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, activations: Tensor) -> Tensor:
        if activations.ndim == 4:
            return nn.functional.conv2d(activations, self.weight[:, :, None, None], self.bias)
        return nn.functional.linear(activations, self.weight, self.bias)


def features(shape: Shape) -> int:
    """How many numbers a place has: channels of a map, dimensions of a token or a flat layer."""
    return shape[0] if len(shape) == 3 else shape[-1]


def places(shape: Shape) -> Shape:
    """The axes that are not features: height and width, tokens, or none."""
    return shape[1:] if len(shape) == 3 else shape[:-1]
