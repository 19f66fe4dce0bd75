"""Measures of separation, against scikit-learn and by hand."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from pipeline.separation import auprc, auroc, auroc_interval, fpr_at

# Few values, so that there are ties within sides and between them.
sides = st.lists(st.integers(-9, 9), min_size=1, max_size=30).map(lambda values: np.array(values, np.float64))


def numbers(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def told(inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As scikit-learn takes them: whether each is outside, and all scores."""
    return np.repeat([0, 1], [len(inside), len(outside)]), np.concatenate([inside, outside])


@given(inside=sides, outside=sides)
def test_all_agree_with_scikit_learn_whatever_is_tied(inside: np.ndarray, outside: np.ndarray) -> None:
    """Its `roc_auc_score`, `average_precision_score`, `auc` of its curve, and the first of `roc_curve` at 95 %."""
    truth = told(inside, outside)
    precision, recall, _ = precision_recall_curve(*truth)
    false, true, _ = roc_curve(*truth, drop_intermediate=False)

    assert auroc(inside, outside) == pytest.approx(roc_auc_score(*truth), abs=1e-14)
    assert auprc(inside, outside, "average") == pytest.approx(average_precision_score(*truth), abs=1e-14)
    assert auprc(inside, outside, "trapezoid") == pytest.approx(auc(recall, precision), abs=1e-14)
    assert fpr_at(inside, outside, 0.95) == pytest.approx(false[np.argmax(true >= 0.95)], abs=1e-14)


@given(inside=sides, outside=sides)
def test_an_auroc_is_the_part_of_pairs_in_order(inside: np.ndarray, outside: np.ndarray) -> None:
    apart = outside[:, None] - inside

    assert auroc(inside, outside) == np.mean((apart > 0) + (apart == 0) / 2)


@given(inside=sides, outside=sides)
def test_sides_swapped_give_the_rest_to_one(inside: np.ndarray, outside: np.ndarray) -> None:
    assert auroc(inside, outside) + auroc(outside, inside) == pytest.approx(1, abs=1e-15)
    assert auroc(-outside, -inside) == auroc(inside, outside)


@given(inside=sides, outside=sides, change=st.sampled_from([np.exp, np.cbrt, np.arctan, lambda x: 3 * x - 7]))
def test_only_the_order_of_scores_counts(inside: np.ndarray, outside: np.ndarray, change) -> None:
    changed = change(inside), change(outside)

    assert auroc(*changed) == auroc(inside, outside)
    assert auprc(*changed, "average") == auprc(inside, outside, "average")
    assert auprc(*changed, "trapezoid") == auprc(inside, outside, "trapezoid")
    assert fpr_at(*changed, 0.95) == fpr_at(inside, outside, 0.95)
    assert auroc_interval(*changed, 0.9, 20, 0) == auroc_interval(inside, outside, 0.9, 20, 0)


def test_what_looks_typical_is_not_folded_into_what_looks_strange() -> None:
    inside, outside = numbers(5, 6, 7), numbers(1, 2)

    assert auroc(inside, outside) == 0
    assert auroc(outside, inside) == 1
    assert fpr_at(inside, outside, 0.95) == 1


def test_ties_are_halves_and_one_threshold() -> None:
    inside, outside = numbers(0, 1, 1, 2), numbers(1, 2)

    assert auroc(inside, outside) == (1 + 2 / 2 + 3 + 1 / 2) / 8
    assert auprc(inside, outside, "average") == pytest.approx(0.5 * 1 / 2 + 0.5 * 2 / 5)
    assert auprc(inside, outside, "trapezoid") == pytest.approx(0.5 * (1 / 2 + 1) / 2 + 0.5 * (2 / 5 + 1 / 2) / 2)
    assert fpr_at(inside, outside, 0.5) == 1 / 4
    assert fpr_at(inside, outside, 0.51) == 3 / 4


def test_where_all_scores_are_one_nothing_is_told_apart() -> None:
    inside, outside = np.zeros(3), np.zeros(1)

    assert auroc(inside, outside) == 0.5
    assert auprc(inside, outside, "average") == 1 / 4
    assert fpr_at(inside, outside, 0.95) == 1
    assert auroc_interval(inside, outside, 0.95, 10, 0) == (0.5, 0.5)


@pytest.mark.parametrize("count", range(1, 101))
def test_ninety_five_percent_is_not_missed_by_rounding(count: int) -> None:
    """Of `count` outside scores from 1 up, the fewest that are 95 % lie at or above the threshold."""
    outside = np.arange(1.0, count + 1)
    needed = -(-95 * count // 100)

    assert fpr_at(outside - 0.5, outside, 0.95) == (needed - 1) / count


def test_an_interval_is_that_of_resamples_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn's AUROC of samples that are drawn in a loop, to within what chance leaves."""
    random = np.random.default_rng(0)
    inside, outside = random.standard_normal(60).round(1), random.standard_normal(40).round(1) + 0.7
    looped = [
        roc_auc_score(*told(random.choice(inside, len(inside)), random.choice(outside, len(outside))))
        for _ in range(4000)
    ]

    low, high = auroc_interval(inside, outside, 0.9, 20_000, 1)
    monkeypatch.setattr("pipeline.separation._DRAWN", 1000)
    by_blocks = auroc_interval(inside, outside, 0.9, 20_000, 1)

    assert (low, high) == pytest.approx(tuple(np.quantile(looped, [0.05, 0.95])), abs=0.005)
    assert by_blocks == pytest.approx((low, high), abs=0.003)
    assert low < auroc(inside, outside) < high


def test_scores_of_the_same_samples_are_drawn_together() -> None:
    """What differs by nothing is 0.5 in every resample; and the interval is that of pairs drawn in a loop."""
    random = np.random.default_rng(4)
    inside = random.standard_normal(60)
    outside = inside + 0.3 * random.standard_normal(60) + 0.1
    places = [random.integers(60, size=60) for _ in range(4000)]
    looped = [roc_auc_score(*told(inside[at], outside[at])) for at in places]

    assert auroc_interval(inside, inside, 0.9, 50, 0, paired=True) == pytest.approx((0.5, 0.5), abs=1e-12)
    found = auroc_interval(inside, outside, 0.9, 20_000, 1, paired=True)
    assert found == pytest.approx(tuple(np.quantile(looped, [0.05, 0.95])), abs=0.003)
    alone = auroc_interval(inside, outside, 0.9, 20_000, 1)
    assert found[1] - found[0] < (alone[1] - alone[0]) / 2
    with pytest.raises(ValueError, match="paired: is of 60 and 59 scores; it should be of as many on each side"):
        auroc_interval(inside, outside[1:], 0.9, 50, 0, paired=True)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Normal scores one standard deviation apart: the AUROC is Φ(1/√2) = 0.7602."""
    random = np.random.default_rng(2)
    covered = 0
    for trial in range(300):
        low, high = auroc_interval(random.standard_normal(80), random.standard_normal(80) + 1, 0.9, 300, trial)
        covered += low <= 0.76025 <= high

    assert 0.85 <= covered / 300 <= 0.95


def test_an_interval_follows_from_its_seed() -> None:
    inside, outside = np.random.default_rng(0).standard_normal((2, 30))

    assert auroc_interval(inside, outside, 0.9, 50, 3) == auroc_interval(inside, outside, 0.9, 50, 3)
    assert auroc_interval(inside, outside, 0.9, 50, 3) != auroc_interval(inside, outside, 0.9, 50, 4)


@pytest.mark.parametrize(
    ("inside", "outside", "words"),
    [
        (numbers(), numbers(1), "inside: has no scores; it should have at least one"),
        (numbers(1), numbers(), "outside: has no scores; it should have at least one"),
        (numbers(1, nan), numbers(1), "inside: has 1 scores that are not finite numbers"),
        (numbers(1), numbers(inf, -inf), "outside: has 2 scores that are not finite numbers"),
    ],
)
def test_scores_that_say_nothing_are_refused(inside: np.ndarray, outside: np.ndarray, words: str) -> None:
    for measure in (
        auroc,
        lambda inside, outside: auprc(inside, outside, "average"),
        lambda inside, outside: fpr_at(inside, outside, 0.95),
        lambda inside, outside: auroc_interval(inside, outside, 0.9, 10, 0),
    ):
        with pytest.raises(ValueError, match=words):
            measure(inside, outside)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="tpr: is 0; it should be above 0, up to 1"):
        fpr_at(numbers(0), numbers(1), 0.0)
    with pytest.raises(ValueError, match="confidence: is 1; it should be above 0 and below 1"):
        auroc_interval(numbers(0), numbers(1), 1.0, 10, 0)
    with pytest.raises(ValueError, match="resamples: is 0; it should be 1 or more"):
        auroc_interval(numbers(0), numbers(1), 0.9, 0, 0)
