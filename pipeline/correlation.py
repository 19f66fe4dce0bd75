"""Rank correlations, and how often chance alone gives them."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from pipeline.permuting import Statistic, p_value

Numbers = Float64[np.ndarray, " _"]
EXACT = 7  # pairs up to which all of their orders are gone through: SciPy's p-values are for many, or for no ties


class Correlation(NamedTuple):
    value: float
    p: float  # two-sided


def kendall(one: Numbers, other: Numbers) -> Correlation:
    """Kendall's τ-b, which is 1 only where ties agree as well."""
    from scipy.stats import kendalltau  # takes a second, and most who import this never correlate

    _refuse(one, other)
    found: Any = kendalltau(one, other)
    signs, others = (np.sign(side[:, None] - side) for side in (one, other))

    def size(orders: np.ndarray) -> np.ndarray:
        return np.abs(np.einsum("ij,pij->p", signs, others[orders[:, :, None], orders[:, None, :]]))

    return Correlation(float(found.statistic), _p(size, len(one), found.pvalue))


def spearman(one: Numbers, other: Numbers) -> Correlation:
    """Spearman's ρ, of mean ranks where there are ties."""
    from scipy.stats import rankdata, spearmanr

    _refuse(one, other)
    found: Any = spearmanr(one, other)
    ranks, others = (rankdata(side) - (len(side) + 1) / 2 for side in (one, other))

    def size(orders: np.ndarray) -> np.ndarray:
        return np.abs(others[orders] @ ranks)

    return Correlation(float(found.statistic), _p(size, len(one), found.pvalue))


def defined(one: Numbers, other: Numbers) -> bool:
    """Whether there is a correlation: of three pairs or more of finite numbers, neither side the same everywhere."""
    return len(one) > 2 and bool(np.isfinite([one, other]).all()) and bool(np.ptp(one) > 0 < np.ptp(other))


def _p(size: Statistic, count: int, by_formula: float) -> float:
    return p_value(size, count, 5040) if count <= EXACT else float(by_formula)


def _refuse(one: Numbers, other: Numbers) -> None:
    if not defined(one, other):
        raise ValueError("one, other: have no correlation; they should be 3 or more finite numbers, not all the same")
