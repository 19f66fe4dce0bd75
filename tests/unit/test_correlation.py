"""Rank correlations and p-values, held against SciPy's and against going through all orders with it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.correlation import EXACT, defined, kendall, spearman
from pipeline.permuting import p_value

BOTH = pytest.mark.parametrize(("ours", "theirs"), [(kendall, stats.kendalltau), (spearman, stats.spearmanr)])
tied = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=5)


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    one, other = np.array(pairs, np.float64).T
    return one.copy(), other.copy()


@BOTH
@settings(max_examples=15)
@given(pairs=tied)
def test_with_few_pairs_p_is_of_all_orders_also_with_ties(ours: Any, theirs: Any, pairs: list[tuple[int, int]]) -> None:
    """By `scipy.stats.permutation_test`, which goes through all pairings of so few."""
    one, other = sides(pairs)
    assume(defined(one, other))
    oracle = stats.permutation_test(
        (one,), lambda x: abs(theirs(x, other).statistic), permutation_type="pairings", alternative="greater",
        n_resamples=10_000,
    )  # fmt: skip

    found = ours(one, other)

    assert found.value == pytest.approx(theirs(one, other).statistic, abs=1e-12)
    assert found.p == pytest.approx(oracle.pvalue, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_with_few_pairs_and_no_ties_p_is_kendalls_exact_one(seed: int) -> None:
    one, other = np.random.default_rng(seed).standard_normal((2, EXACT))

    wanted: Any = stats.kendalltau(one, other, method="exact")
    assert kendall(one, other).p == pytest.approx(wanted.pvalue, abs=1e-12)


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_with_many_pairs_all_is_scipys(ours: Any, theirs: Any, seed: int) -> None:
    one, other = np.random.default_rng(seed).integers(0, 9, (2, 30)).astype(np.float64)

    assert tuple(ours(one, other)) == pytest.approx(tuple(theirs(one, other)))


@BOTH
def test_one_order_and_its_reverse_have_one_and_minus_one(ours: Any, theirs: Any) -> None:
    rising = np.arange(5.0)

    assert ours(rising, rising**3) == pytest.approx((1, 2 / 120))
    assert ours(rising, -rising) == pytest.approx((-1, 2 / 120))


@BOTH
@pytest.mark.parametrize(
    ("one", "other"),
    [([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0, np.nan, 3.0])],
)
def test_what_has_no_correlation_is_refused(ours: Any, theirs: Any, one: list[float], other: list[float]) -> None:
    with pytest.raises(ValueError, match="they should be 3 or more finite numbers, not all the same"):
        ours(np.array(one), np.array(other))


@pytest.mark.parametrize("seed", range(3))
def test_all_orders_are_gone_through_where_they_are_few(seed: int) -> None:
    """By `scipy.stats.permutation_test`."""
    values, weights = np.random.default_rng(seed).standard_normal((2, 5))
    oracle = stats.permutation_test(
        (values,), lambda x: x @ weights, permutation_type="pairings", alternative="greater", n_resamples=10_000
    )

    found = p_value(lambda orders: values[orders] @ weights, 5, 120)

    assert found == pytest.approx(oracle.pvalue)


def test_orders_that_are_drawn_give_about_as_much_and_never_nothing() -> None:
    values, weights = np.random.default_rng(0).standard_normal((2, 7))

    exact, drawn = (p_value(lambda orders: values[orders] @ weights, 7, most) for most in (5040, 2000))

    assert drawn == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 2000) ** 0.5)
    assert p_value(lambda orders: -np.abs(orders - np.arange(40)).sum(1), 40, 99) == 0.01
    assert p_value(lambda orders: np.zeros(len(orders)), 40, 99) == 1


def test_no_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="most: is 0; it should be 1 or more"):
        p_value(lambda orders: np.zeros(len(orders)), 3, 0)
