"""What stands beside a similarity: how far samples alone would move it, and what it is of layers that share nothing."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

EQUAL = 1e-9  # values that lie no further apart are the same, but for rounding


class Chance(NamedTuple):
    """How values stand to those of the same layers with the samples of one permuted, which then share nothing."""

    calibrated: np.ndarray
    null: np.ndarray  # mean of the permuted
    p: np.ndarray


def against_chance(
    values: np.ndarray, drawn: Iterable[np.ndarray], best: float, larger_is_more_similar: bool
) -> Chance:
    """From values and, drawn one by one, what they are under permutations.

    `p` is the share of all draws, the samples' own order being one of them, that look at least as similar: with m
    permutations (1 + those that do) / (1 + m), which is never 0 (Phipson & Smyth 2010).

    `calibrated` is (value - null) / (best - null), as the Rand index is adjusted (Hubert & Arabie 1985): 0 for what
    permuted layers are on average, 1 for the best there is, negative for less than chance; of a distance, where best
    is 0, the same formula turns it round. Where permuted layers are as similar as can be, it is NaN: the index tells
    nothing of such layers.
    """
    total, reached, count = np.zeros_like(values), np.zeros_like(values), 0
    sign = 1 if larger_is_more_similar else -1
    for matrix in drawn:
        total += matrix
        reached += sign * (matrix - values) >= -EQUAL
        count += 1
    mean = total / count
    room = np.where(np.abs(best - mean) > EQUAL, best - mean, np.nan)
    return Chance((values - mean) / room, mean, np.where(np.isnan(mean), np.nan, (1 + reached) / (1 + count)))


def groups(samples: int, count: int, random: np.random.Generator) -> list[np.ndarray]:
    """Every sample in one of `count` random groups, whose sizes differ by one at most."""
    return [np.sort(group) for group in np.array_split(random.permutation(samples), count)]


def jackknife_error(values: np.ndarray, left: Sequence[np.ndarray], sizes: Sequence[int], best: float) -> np.ndarray:
    """Standard error of `values` over samples, from what they are with each of several groups left out.

    NaN where that makes an index perfect which was not: with fewer samples, features span all there are, and nothing
    is left to vary.

    Delete-m jackknife for unequal groups (Busing, Meijer & van der Leeden 1999, eq. 9); of G equal ones it is the root
    of (G - 1) / G times the sum of squared differences from their mean (Efron & Tibshirani 1993, ch. 11).
    """
    shares = sum(sizes) / np.array(sizes, np.float64)  # of all samples, how many times a group
    shares = shares.reshape(-1, *[1] * values.ndim)
    others = np.stack(left)
    pseudo = shares * values - (shares - 1) * others
    estimate = len(left) * values - ((1 - 1 / shares) * others).sum(0)
    saturated = (np.abs(others - best) <= EQUAL).any(0) & (np.abs(values - best) > EQUAL)
    return np.where(saturated, np.nan, np.sqrt(((pseudo - estimate) ** 2 / (shares - 1)).mean(0)))
