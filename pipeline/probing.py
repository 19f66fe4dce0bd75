"""What features say of labels by themselves: a linear probe, which has one right answer."""

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from pipeline.arrays import Labels, Rows
from pipeline.errors import TrainingError

# Rows and labels beside others: axes of one name are one axis throughout a signature.
Others = tuple[Shaped[np.ndarray, "M ..."], Int64[np.ndarray, " M"]]

_STEPS = 2000
_FLAT = 1e-6  # the largest slope that is left at the minimum


def probe_accuracy(train: tuple[Rows, Labels], test: Others, decay: float) -> float:
    """Of the test split, by multinomial logistic regression on standardised features, by L-BFGS to its only minimum.

    Rows have a single axis of features. Half of `decay` times the sum of squared weights is added to the mean
    cross-entropy.
    """
    inputs = train[0].astype(np.float64)
    mean, deviation = inputs.mean(0), inputs.std(0)
    deviation[deviation < 1e-9 * max(deviation.max(initial=0.0), 1e-300)] = 1.0  # a dead feature tells nothing
    x, y = torch.from_numpy((inputs - mean) / deviation), torch.from_numpy(train[1])
    weight, bias = _fit(x, y, int(max(train[1].max(), test[1].max())) + 1, decay)
    answers = linear(torch.from_numpy((test[0] - mean) / deviation), weight, bias).argmax(1).numpy()
    return float((answers == test[1]).mean())


def _fit(x: Tensor, y: Tensor, classes: int, decay: float) -> tuple[Tensor, Tensor]:
    weight = torch.zeros(classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weight, bias], max_iter=_STEPS, max_eval=2 * _STEPS, tolerance_grad=_FLAT, tolerance_change=0,
        history_size=20, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = cross_entropy(linear(x, weight, bias), y) + decay / 2 * weight.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    closure()
    slope = max(float(part.grad.abs().max()) for part in (weight, bias) if part.grad is not None)
    if slope > 10 * _FLAT:
        raise TrainingError(
            f"probe: its slope is {slope:.2g} after {_STEPS} steps; a larger decay gets it to its minimum"
        )
    return weight.detach(), bias.detach()
