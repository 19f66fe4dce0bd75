"""How well dissimilarities follow differences of what a linear probe makes of the layers (Ding et al. 2021)."""

from collections.abc import Iterator

import numpy as np

from pipeline.correlation import Correlation, defined, kendall, spearman
from pipeline.trials.base import DIGITS, Finding, require


def agreement(
    index: str, part: str, of: str, accuracies: np.ndarray, values: np.ndarray, itself: bool
) -> Iterator[Finding]:
    """Of one set of layers: τ and ρ between |F(A) - F(B)| and d(A, B), and their p-values.

    A is the layer whose probe does best, the first of several; `values` are similarities from the row's layer to the
    column's, and what is not symmetric is taken the way that it finds less similar: what one of the two has lost is
    missed on the way to the other, and never on the way back. B is every layer, and A among them only for `itself`: A
    is at no distance from itself by both, so that τ is about 2 / n without any relation. Where all probes do equally
    well there is nothing to see, and nothing is said, as where the index does not compare A with each. Where they
    differ and the index finds all equally similar, it has seen nothing: τ and ρ are 0, and p is 1.
    """
    reference = int(np.argmax(accuracies))
    held = np.ones(len(accuracies), bool)
    held[reference] = itself
    losses = accuracies[reference] - accuracies[held]
    dissimilarities = -np.round(least(values, reference)[held], DIGITS)
    if not defined(losses, np.arange(len(losses), dtype=np.float64)) or not np.isfinite(dissimilarities).all():
        return
    seen = defined(losses, dissimilarities)
    yield Finding(index, part, of, "count", float(len(losses)))
    for name, found in (("kendall", kendall), ("spearman", spearman)):
        value, p = found(losses, dissimilarities) if seen else Correlation(0.0, 1.0)
        yield Finding(index, part, of, name, value)
        yield Finding(index, part, of, f"{name}_p", p)


def least(values: np.ndarray, reference: int) -> np.ndarray:
    """Of each layer to the reference, or back, whichever is less similar."""
    return np.minimum(values[:, reference], values[reference])


def expect_probe(decay: float) -> None:
    require(decay > 0, f"decay: is {decay:g}; it should be above 0, for one minimum")
