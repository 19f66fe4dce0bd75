"""Verdicts: intervals against their sources, and rules against cases made for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame
from scipy import stats

from pipeline.departures import PAIR, departures
from pipeline.params import Verdicts
from pipeline.verdicts import BASELINES, MEANINGS, comparisons, newcombe, outcome, verdicts

RULES = Verdicts(confidence=0.95, margin=0.02, auroc=0.75, rank_ratio=1.5)
HERE = {"receiver": "r", "objective": "task", "sender": "s", "sender_cut": "a", "receiver_cut": "a"}


def cells(*seeds: dict[str, float], **more: object) -> DataFrame:
    rows = [{**HERE, "seed": i, "samples": 1000, "labelled": 1.0, **row, **more} for i, row in enumerate(seeds)]
    return DataFrame(rows)


def verdict(table: DataFrame) -> dict[str, object]:
    ranks = ["k"] if "k" in table else []
    departed = departures(table, ranks, ["far"] if "auroc_far" in table else [], RULES)
    (row,) = verdicts(comparisons(table, RULES), departed, RULES.margin).to_dict("records")
    return row


def test_the_interval_of_two_shares_is_newcombes() -> None:
    """The first example of his table II, by method 10."""
    assert newcombe(56 / 70, 70.0, 48 / 80, 80.0, RULES) == pytest.approx((0.0524, 0.3339), abs=1e-4)


@pytest.mark.parametrize("seeds", [5, 12])
def test_many_seeds_have_their_own_t_interval(seeds: int) -> None:
    random = np.random.default_rng(seeds)
    differences = random.standard_normal(seeds) / 50
    table = cells(*({"accuracy": 0.9 + d, "unstitched": 0.9} for d in differences))

    (row,) = comparisons(table, RULES).to_dict("records")

    found = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((found.low, found.high))


def test_few_seeds_share_the_spread_of_the_cells_into_one_cut() -> None:
    """With two seeds and three senders there are three degrees of freedom, and not one."""
    pairs = {"x": (0.90, 0.92), "y": (0.80, 0.83), "z": (0.70, 0.70)}
    rows = [
        {**HERE, "sender": sender, "seed": i, "samples": 9, "labelled": 1.0, "accuracy": value, "unstitched": 0.9}
        for sender, values in pairs.items() for i, value in enumerate(values)
    ]  # fmt: skip
    other = [{**row, "receiver_cut": "b", "accuracy": row["accuracy"] / (row["seed"] + 1)} for row in rows]

    held = comparisons(DataFrame(rows + other), RULES).query("receiver_cut == 'a'")

    turned = {sender: np.arcsin(np.sqrt(values)) for sender, values in pairs.items()}
    half = stats.t.ppf(0.975, 3) * np.sqrt(sum(np.var(each, ddof=1) for each in turned.values()) / 3 / 2)
    means = np.arcsin(np.sqrt([np.mean(values) for values in pairs.values()]))
    assert held["high"].to_numpy() == pytest.approx(np.sin(means + half) ** 2 - 0.9)
    assert held["low"].to_numpy() == pytest.approx(np.sin(means - half) ** 2 - 0.9)
    assert list(held["difference"]) == pytest.approx([0.01, -0.085, -0.2])


SHARES = st.lists(st.tuples(*4 * [st.floats(0, 1)]), min_size=1, max_size=4)


@given(senders=SHARES)
def test_an_interval_holds_the_mean_difference_and_nothing_that_no_accuracy_can_reach(
    senders: list[tuple[float, ...]],
) -> None:
    rows = [
        {**HERE, "sender": str(k), "seed": i, "samples": 9, "labelled": 1.0, "accuracy": a, "unstitched": b}
        for k, (one, two, base, other) in enumerate(senders) for i, (a, b) in enumerate([(one, base), (two, other)])
    ]  # fmt: skip

    held = comparisons(DataFrame(rows), RULES)

    low, difference, high = (held[name].to_numpy() for name in ("low", "difference", "high"))
    assert np.all(low <= difference + 1e-12)
    assert np.all(difference <= high + 1e-12)
    assert np.all(held["of_baseline"].to_numpy() + low + 1e-12 >= 0)
    assert np.all(held["of_baseline"].to_numpy() + high <= 1 + 1e-12)


def test_a_spread_that_all_share_leaves_a_stitch_near_the_ceiling_there() -> None:
    """One sender's accuracy is chance and swings by 20 points; the other's equals the baseline's in both seeds."""
    rows = [
        {**HERE, "sender": sender, "seed": i, "samples": 9, "labelled": 1.0, "accuracy": value, "unstitched": 0.98}
        for sender, values in {"sure": (0.98, 0.98), "lost": (0.1, 0.3)}.items() for i, value in enumerate(values)
    ]  # fmt: skip

    sure, lost = comparisons(DataFrame(rows), RULES).to_dict("records")

    assert sure["high"] <= 0.02 + 1e-12
    assert lost["low"] >= -0.98 - 1e-12


@given(low=st.floats(-1, 1), width=st.floats(0, 1), margin=st.floats(0, 0.2))
def test_an_outcome_says_on_which_side_of_the_margin_the_interval_lies(low: float, width: float, margin: float) -> None:
    found, high = outcome(low, low + width, margin), low + width

    assert {
        "above": low > margin,
        "reaches": -margin <= low <= margin,
        "below": high < -margin,
        "open": low < -margin <= high,
    }[found]


GOOD = {
    "accuracy": 0.95,
    "unstitched": 0.9,
    "recalibrated": 0.9,
    "self": 0.9,
    "random": 0.3,
    "noise": 0.3,
    "probe": 0.5,
    "whole_probe": 0.5,
}


@pytest.mark.parametrize(
    ("change", "wanted", "as_well"),
    [
        ({}, "compatible", ""),
        ({"accuracy": 0.7}, "not compatible", ""),
        ({"noise": 0.95}, "uninformative", "noise"),
        ({"noise": 0.99, "random": 0.94}, "uninformative", "random noise"),
        ({"probe": 0.96}, "uninformative", "probe"),
        ({"probe": 0.96, "labelled": 0.0}, "compatible", ""),
        ({"whole_probe": 0.96}, "uninformative", "whole_probe"),
        ({"whole_probe": 0.96, "labelled": 0.0}, "compatible", ""),
        ({"own": 1.0, "own_samples": 50.0}, "compatible", ""),
    ],
)
def test_a_cell_has_the_verdict_that_its_numbers_allow(change: dict[str, float], wanted: str, as_well: str) -> None:
    found = verdict(cells(*({**GOOD, **change, "samples": 100_000} for _ in range(1))))

    assert (found["verdict"], found["as_well"]) == (wanted, as_well)
    assert str(found["words"]).startswith(MEANINGS[wanted])


def test_few_images_leave_it_open() -> None:
    near = verdict(cells({**GOOD, "accuracy": 0.9, "samples": 30}))
    unsure = verdict(cells({**GOOD, "accuracy": 1.0, "noise": 0.96, "samples": 60}))

    assert near["verdict"] == unsure["verdict"] == "open"
    assert unsure["words"] == "cannot be told from clustered noise stitched into the receiver"


def test_what_is_open_against_the_receiver_is_open_for_that_and_no_control() -> None:
    found = verdict(cells({**GOOD, "accuracy": 0.9, "noise": 0.88, "samples": 30}))

    assert found["words"] == MEANINGS["open"]


def test_the_share_of_recalibration_is_told_where_there_is_a_gain() -> None:
    none = verdict(cells({**GOOD, "accuracy": 0.9, "recalibrated": 0.95}, samples=10_000))
    half = verdict(cells({**GOOD, "accuracy": 0.96, "recalibrated": 0.93}, samples=10_000))
    all_ = verdict(cells({**GOOD, "accuracy": 0.96, "recalibrated": 0.99}, samples=10_000))

    assert none["by_recalibration"] is None or np.isnan(none["by_recalibration"])  # pyright: ignore
    assert half["by_recalibration"] == pytest.approx(0.5)
    assert all_["by_recalibration"] == pytest.approx(1.5)
    assert str(half["words"]).endswith("recalibrating BatchNorm alone brings 50 % of the gain")


def test_baselines_that_are_not_there_are_not_held_against_anything() -> None:
    table = cells({"accuracy": 0.9, "unstitched": 0.9, "noise": float("nan")})

    assert list(comparisons(table, RULES)["baseline"]) == ["unstitched"]
    assert set(comparisons(cells(GOOD), RULES)["baseline"]) == set(BASELINES) - {"own"}
    assert list(comparisons(cells(GOOD), RULES).columns[:5]) == PAIR


def test_no_verdict_calls_networks_similar() -> None:
    assert "similar" not in " ".join([*MEANINGS.values(), *BASELINES.values()])


def test_without_an_empty_control_a_verdict_is_open() -> None:
    found = verdict(cells({"accuracy": 0.95, "unstitched": 0.9}, samples=100_000))

    assert found["verdict"] == "open"
    assert str(found["words"]).startswith("there is no empty control")


def test_with_one_seed_each_baseline_counts_its_own_images() -> None:
    row = {"accuracy": 0.9, "unstitched": 0.88, "self": 0.88, "unstitched_samples": 10_000, "self_samples": 360}
    held = comparisons(cells(row, samples=360), RULES).set_index("baseline")

    assert held.loc["unstitched", "low"] == pytest.approx(newcombe(0.9, 360.0, 0.88, 10_000.0, RULES)[0])
    assert held.loc["self", "low"] == pytest.approx(newcombe(0.9, 360.0, 0.88, 360.0, RULES)[0])


NEAR = {"auroc_far": 0.7, "auroc_far_low": 0.65, "auroc_far_high": 0.75, "k": 9.0, "receiver_k": 10.0}


@pytest.mark.parametrize(
    ("change", "outside", "inside", "other_rank", "departs"),
    [
        ({}, "", "", "", ""),
        (
            {"auroc_far": 0.9, "auroc_far_low": 0.8},
            "far",
            "",
            "",
            "out of the receiver’s distribution by far (AUROC 0.90)",
        ),
        (
            {"auroc_far": 0.1, "auroc_far_low": 0.05, "auroc_far_high": 0.2},
            "",
            "far",
            "",
            "nearer to the middle of the receiver’s distribution than its own by far (AUROC 0.10)",
        ),
        ({"k": 4.0}, "", "", "k", "k rank 4 against the receiver’s own 10"),
        ({"k": 15.0}, "", "", "k", "k rank 15 against the receiver’s own 10"),
        ({"k": 14.9}, "", "", "", ""),
        ({"k": 3.0, "receiver_k": 0.0}, "", "", "k", "k rank 3 against the receiver’s own 0"),
        ({"k": 0.0, "receiver_k": 0.0}, "", "", "", ""),
    ],
)
def test_what_is_unlike_the_receivers_own_is_foreign(
    change: dict[str, float], outside: str, inside: str, other_rank: str, departs: str
) -> None:
    found = verdict(cells({**GOOD, **NEAR, **change}, samples=100_000))

    told = [found[name] for name in ("outside", "inside", "other_rank", "departs")]
    assert told == [outside, inside, other_rank, departs]
    assert found["verdict"] == ("foreign" if departs else "compatible")
    assert str(found["words"]).endswith(departs)


def test_a_departure_is_one_in_every_seed() -> None:
    far = {"auroc_far": 0.9, "auroc_far_low": 0.8}
    once = cells({**GOOD, **NEAR, **far, "k": 2.0}, {**GOOD, **NEAR, "k": 20.0}, samples=100_000)
    twice = cells({**GOOD, **NEAR, **far, "k": 2.0}, {**GOOD, **NEAR, **far, "k": 3.0}, samples=100_000)

    assert verdict(once)["departs"] == ""
    assert (verdict(twice)["outside"], verdict(twice)["other_rank"]) == ("far", "k")


def test_a_stitch_that_shows_nothing_anyway_is_not_called_foreign() -> None:
    table = cells({**GOOD, **NEAR, "auroc_far_low": 0.99, "noise": 0.99}, samples=100_000)

    assert verdict(table)["verdict"] == "uninformative"
    assert "out of the receiver’s distribution" in str(verdict(table)["words"])
