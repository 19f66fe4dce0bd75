from typing import final

import numpy as np
from torch import Tensor, nn

from pipeline.moments import Map, Moments, Source
from pipeline.stitches.base import Affine, Core, Stitch, put


@final
class BnConvBn(Stitch):
    """BatchNorm, an affine map with bias, BatchNorm; no ReLU after (Smith et al. 2025)."""

    def core(self, inputs: int, outputs: int) -> "NormedCore":
        return NormedCore(inputs, outputs)


class NormedCore(Core):
    """In eval mode any affine map; in training the two BatchNorms set scale and centre by the batch."""

    normalises = True

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.before, self.map, self.after = Norm(inputs), Affine(inputs, outputs), Norm(outputs)

    def become(self, found: Map, source: Source | None = None) -> None:
        """Both norms expect what `source` gives them, so that training finds the map as it is in eval mode."""
        if source is not None:
            spread = np.einsum("ed,df,ef->e", found.weight, source.products, found.weight, optimize=True)
            _expect(self.before, source.mean, source.variances())
            _expect(self.after, found.weight @ source.mean + found.bias, spread / source.count)
        mean, deviation = _statistics(self.before)
        self.map.become(Map(found.weight * deviation, found.bias + found.weight @ mean))
        mean, deviation = _statistics(self.after)
        put(self.after.weight, deviation)
        put(self.after.bias, mean)

    def closest(self, moments: Moments, free: Map) -> Map:
        return free

    def forward(self, activations: Tensor) -> Tensor:
        return self.after(self.map(self.before(activations)))


class Norm(nn.BatchNorm1d):
    """A BatchNorm of maps, tokens and flat layers alike; the features of tokens come last."""

    def _check_input_dim(self, input: Tensor) -> None:  # noqa: A002 (torch's name)
        pass

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return super().forward(input.transpose(1, 2)).transpose(1, 2) if input.ndim == 3 else super().forward(input)


def _expect(norm: Norm, mean: np.ndarray, variance: np.ndarray) -> None:
    assert norm.running_mean is not None and norm.running_var is not None
    put(norm.running_mean, mean)
    put(norm.running_var, variance)


def _statistics(norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    assert norm.running_mean is not None and norm.running_var is not None
    mean, variance = (tensor.double().cpu().numpy() for tensor in (norm.running_mean, norm.running_var))
    return mean, np.sqrt(variance + norm.eps)
