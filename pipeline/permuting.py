"""How often a number would be as large as it is if the order of things meant nothing."""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from math import factorial

import numpy as np

from pipeline.randomness import generator

SAME = 1e-12  # numbers that are nearer to each other are equal but for rounding

Statistic = Callable[[np.ndarray], np.ndarray]  # of orders, one a row: a number each


def p_value(statistic: Statistic, count: int, most: int) -> float:
    """One-sided: the share of orders of `count` things in which `statistic` is at least what it is in their own.

    Of all orders, where there are at most `most`; else of so many drawn at random and the own one beside them, which
    is a valid p-value of however few draws (Phipson & Smyth 2010).
    """
    if most < 1:
        raise ValueError(f"most: is {most}; it should be 1 or more")
    own = statistic(np.arange(count)[None])[0]
    reached = int(np.count_nonzero(statistic(_orders(count, most)) >= own - SAME))
    return reached / factorial(count) if factorial(count) <= most else (1 + reached) / (1 + most)


@cache
def _orders(count: int, most: int) -> np.ndarray:
    if factorial(count) <= most:
        return np.array(list(permutations(range(count))))
    random = generator(0, "orders", count)  # the same for all, so that what is compared differs by itself alone
    return np.array([random.permutation(count) for _ in range(most)])
