"""Trials: representations and tables made by hand, of which the answer is known."""

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import combinations, product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from pipeline.arrays import Held
from pipeline.errors import DataError, ParamsError
from pipeline.registry import build
from pipeline.similarity.linear_cka import LinearCKA
from pipeline.similarity.procrustes import Procrustes
from pipeline.trials import TRIALS
from pipeline.trials.base import ALL, Design, Finding, Judged, Layer, Material, Share, Trial, Truncations, shares

CUTS: tuple[str, ...] = ("a", "b", "c", "d")
INTERVAL = {"confidence": 0.9, "resamples": 200}
TRUNCATED = {"cuts": None, "ranks": [3, 2, 1], "decay": 0.1, "itself": False, **INTERVAL}
OPTIONS: dict[str, dict[str, Any]] = {
    "layer_identification": INTERVAL,
    "layer_monotonicity": INTERVAL,
    "shortcut": {"learnt": {"shape": ["m"], "colour": ["n"]}, "orders": 1000},
    "random_labels": {"learnt": ["m"], "unlearnt": ["n"], "orders": 1000},
    "sensitivity": TRUNCATED,
    "specificity": {"decay": 0.1, "itself": False},
}


def trial(name: str, **changed: Any) -> Any:
    return build(f"trials.{name}", TRIALS, name, {**OPTIONS[name], **changed})


def design(kinds: Mapping[str, str] | None = None, seeds: int = 2, cuts: tuple[str, ...] = CUTS) -> Design:
    kinds = {"m": "trained on x"} if kinds is None else kinds
    return Design(kinds, tuple(range(seeds)), dict.fromkeys(kinds, dict.fromkeys(cuts, 8)))


def material(
    given_: Design,
    values: Callable[[Layer, Layer], float] | np.ndarray,
    probed: Callable[[Layer], float] = lambda _: pytest.fail("something was probed"),
    truncated: Callable[[Layer], Truncations] = lambda _: pytest.fail("something was truncated"),
) -> Material:
    """One index, `it`, with a value for each pair of layers."""
    layers = tuple(Layer(*network, cut) for network in given_.networks for cut in given_.cuts[network[0]])
    if not isinstance(values, np.ndarray):
        values = np.array([[float(values(one, other)) for other in layers] for one in layers])
    return Material(
        given_, layers, [Judged("it", values)],
        lambda layer, _: probed(layer), lambda layer, *_: truncated(layer),
    )  # fmt: skip


def told(trial_: Trial, given_: Material) -> dict[tuple[str, str, str], float]:
    """By part, of and measure; each is said once, of `it`, and is a number."""
    found = list(trial_.run(given_))
    assert {finding.index for finding in found} <= {"it"}
    assert np.isfinite([finding.value for finding in found]).all()
    by_place = {(finding.part, finding.of, finding.measure): finding.value for finding in found}
    assert len(by_place) == len(found)
    return by_place


def apart(one: Layer, other: Layer) -> int:
    return abs(CUTS.index(one.cut) - CUTS.index(other.cut))


def test_every_trial_is_tested_and_goes_by_the_name_of_its_file() -> None:
    assert set(OPTIONS) == set(TRIALS)
    for name, place in TRIALS.items():
        module, _, cls = place.partition(":")
        assert module == f"pipeline.trials.{name}"
        assert issubclass(getattr(import_module(module), cls), Trial)


def test_networks_differ_by_chance_alone_where_all_but_name_and_seed_is_equal() -> None:
    there = design({"m": "x", "n": "x", "o": "y", "file": ""})

    assert there.alike(("m", 0), ("m", 1)) and there.alike(("m", 0), ("n", 0))
    assert not there.alike(("m", 0), ("m", 0)) and not there.alike(("m", 0), ("o", 0))
    assert not there.alike(("file", 0), ("file", 1))
    assert len(there.twins) == 6 + 1


# Layer identification


def test_an_index_that_knows_depth_identifies_every_layer_and_a_shifted_one_none() -> None:
    there = design(seeds=3)
    right = told(trial("layer_identification"), material(there, lambda one, other: -apart(one, other)))
    shifted = told(
        trial("layer_identification"),
        material(there, lambda one, other: CUTS.index(other.cut) == (CUTS.index(one.cut) + 1) % 4),
    )

    for part, decisions in (("between", 3 * 2 * 4), ("within", 3 * 4)):
        assert right[part, ALL, "value"] == 1 and shifted[part, ALL, "value"] == 0
        assert right[part, ALL, "count"] == decisions
        assert right[part, ALL, "chance"] == 0.25
        assert (right[part, ALL, "low"], right[part, ALL, "high"]) == (1, 1)
        assert {of for p, of, _ in right if p == part} == {ALL, *CUTS}


def test_equal_similarities_count_as_guessing_does() -> None:
    flat = told(trial("layer_identification"), material(design(), lambda *_: 0.3))
    noisy = told(trial("layer_identification"), material(design(), lambda one, other: 0.3 + 1e-14 * apart(one, other)))

    assert flat["between", ALL, "value"] == flat["between", ALL, "chance"] == 0.25
    assert noisy == flat


def test_of_what_is_not_symmetric_the_row_asks_and_beside_it_the_column() -> None:
    """Each row finds itself among columns; every column finds the first row, which is right for one of four."""
    found = told(
        trial("layer_identification"),
        material(design(), lambda one, other: (one.cut == other.cut) - 10 * CUTS.index(one.cut)),
    )

    for part in ("between", "within"):
        assert (found[part, ALL, "value"], found[f"{part}_columns", ALL, "value"]) == (1, 0.25)
        assert [found[f"{part}_columns", cut, "value"] for cut in CUTS] == [1, 0, 0, 0]


def test_networks_that_differ_by_more_than_chance_are_not_compared() -> None:
    found = told(trial("layer_identification"), material(design({"m": "x", "n": "y"}, seeds=1), lambda one, other: 1.0))

    assert not any(part == "between" for part, *_ in found)
    assert found["within", ALL, "count"] == 8
    assert ("within", ALL, "low") not in found


def test_layers_that_are_not_compared_are_no_candidates() -> None:
    """As with an index that needs equal places: of two pairs of layers, each is told from its one neighbour."""
    halves = {"a": 0, "b": 0, "c": 1, "d": 1}
    found = told(
        trial("layer_identification"),
        material(
            design(),
            lambda one, other: -apart(one, other) if halves[one.cut] == halves[other.cut] else np.nan,
        ),
    )
    alone = trial("layer_identification").run(
        material(design(), lambda one, other: 1.0 if one.cut == other.cut else np.nan)
    )

    assert (found["between", ALL, "value"], found["between", ALL, "chance"]) == (1, 0.5)
    assert list(alone) == []


def representations(seeds: int, random: np.random.Generator) -> list[np.ndarray]:
    """Four layers, each far from the others, that every network holds turned and with a little noise."""
    shared = random.standard_normal((len(CUTS), 60, 8))
    turned = [layer @ np.linalg.qr(random.standard_normal((8, 8)))[0] for _ in range(seeds) for layer in shared]
    return [layer + 0.1 * random.standard_normal(layer.shape) for layer in turned]


@pytest.mark.parametrize("index", [LinearCKA("biased", "flattened"), Procrustes("squared", "flattened")])
def test_indices_of_turned_representations_identify_them_and_of_others_no_more_than_chance(index: Any) -> None:
    random, there, sign = np.random.default_rng(0), design(seeds=6), 1 if index.facts().larger_is_more_similar else -1
    related = representations(6, random)
    unrelated = list(random.standard_normal((24, 60, 8)))

    found, guessed = (
        told(trial("layer_identification"), material(there, sign * index.matrix([Held(x) for x in rows], 10**9)))
        for rows in (related, unrelated)
    )

    assert found["between", ALL, "value"] == 1
    assert guessed["between", ALL, "low"] <= 0.25 <= guessed["between", ALL, "high"]
    assert guessed["within", ALL, "value"] == 1


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_only_the_order_of_similarities_counts(seed: int) -> None:
    values = np.random.default_rng(seed).random((8, 8)).round(1)
    for name in ("layer_identification", "layer_monotonicity"):
        found, moved = (told(trial(name), material(design(), x)) for x in (values, np.exp(3 * values) - 7))

        assert found == pytest.approx(moved)


# Shares and their intervals


def test_intervals_are_of_units_and_not_of_what_each_holds() -> None:
    """By SciPy's percentile bootstrap over the units' own shares, which are of equal count."""
    held = np.random.default_rng(0).integers(0, 11, 12)
    given_ = [
        Share(f"unit {unit}", "x", float(part < whole), 1, 0.5) for unit, whole in enumerate(held) for part in range(10)
    ]
    found = {finding.measure: finding.value for finding in shares("it", "p", given_, 0.9, 20_000) if finding.of == ALL}
    oracle = stats.bootstrap(
        (held / 10,), np.mean, confidence_level=0.9, n_resamples=20_000, method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip

    assert found["value"] == pytest.approx(held.mean() / 10)
    assert (found["low"], found["high"]) == pytest.approx(tuple(oracle), abs=0.01)


@given(
    st.lists(
        st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("ab"), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1,
        max_size=30,
    )
)
def test_a_share_lies_in_its_interval_and_is_the_mean_of_what_it_is_of(found: list[tuple[str, str, float]]) -> None:
    told_ = [Share(unit, of, held, 1, 0.5) for unit, of, held in found]
    numbers = {(x.of, x.measure): x.value for x in shares("it", "p", told_, 0.95, 500)}

    assert numbers[ALL, "value"] == pytest.approx(np.mean([held for *_, held in found]))
    assert ((ALL, "low") in numbers) == (len({unit for unit, *_ in found}) > 2)
    for of in {of for _, of, _ in found}:
        assert numbers[of, "value"] == pytest.approx(np.mean([held for _, x, held in found if x == of]))
    if (ALL, "low") in numbers:
        assert 0 <= numbers[ALL, "low"] <= numbers[ALL, "high"] <= 1


# Monotonicity


@pytest.mark.parametrize(("slope", "answer"), [(-1, 1.0), (0, 0.5), (1, 0.0)])
def test_similarity_that_falls_with_distance_is_monotone(slope: int, answer: float) -> None:
    found = told(trial("layer_monotonicity"), material(design(), lambda one, other: slope * apart(one, other)))

    assert found["within", ALL, "value"] == answer
    assert found["within", ALL, "count"] == 2 * 2 * 4  # networks, ways, triples of four
    assert found["within", ALL, "chance"] == 0.5


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_monotonicity_is_counted_over_all_nearer_and_further_layers_on_one_side(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 4, (4, 4)).astype(np.float64)
    pairs = [
        (values[i, j], values[i, k])
        for i, j, k in product(range(4), repeat=3)
        if abs(i - j) < abs(i - k) and i != j and (j - i) * (k - i) > 0
    ]

    found = told(trial("layer_monotonicity"), material(design(seeds=1), values))

    assert found["within", ALL, "value"] == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))


def test_layers_that_are_not_compared_are_not_counted() -> None:
    found = told(
        trial("layer_monotonicity"),
        material(design(), lambda one, other: np.nan if {one.cut, other.cut} == {"a", "d"} else -apart(one, other)),
    )

    assert found["within", ALL, "count"] == 2 * (2 * 4 - 4)


# Known truth


TWO = {"m": "x", "n": "y"}
learnt_the_same = pytest.mark.parametrize(("name", "part"), [("shortcut", "twins"), ("random_labels", "pairs")])


@learnt_the_same
def test_what_knows_what_was_learnt_orders_every_pair_and_p_is_by_all_orders(name: str, part: str) -> None:
    """Of four networks, one is paired with any of three others: so a third of the 24 orders has twins together."""
    found = told(trial(name), material(design(TWO), lambda one, other: one.model == other.model))
    assert found[part, ALL, "value"] == 1
    assert found[part, ALL, "p"] == pytest.approx(8 / 24)
    assert (found[part, ALL, "near"], found[part, ALL, "far"]) == ((2, 4) if name == "shortcut" else (1, 4))
    assert [found[part, cut, "value"] for cut in CUTS] == [1] * 4


@learnt_the_same
def test_what_knows_nothing_has_a_half_and_what_is_misled_less(name: str, part: str) -> None:
    flat = told(trial(name), material(design(TWO), lambda *_: 2.0))
    misled = told(trial(name), material(design(TWO), lambda one, other: one.model != other.model))

    assert (flat[part, ALL, "value"], flat[part, ALL, "p"]) == (0.5, 1)
    assert (misled[part, ALL, "value"], misled[part, ALL, "p"]) == (0, 1)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_chance_is_scikit_learns_auroc_at_each_cut_and_their_mean(seed: int) -> None:
    """Of both ways' mean, for what is not symmetric; a third model is of no group."""
    there = design({"m": "x", "n": "y", "o": "z"}, seeds=3)
    values = np.random.default_rng(seed).integers(0, 5, (36, 36)).astype(np.float64)
    given_ = material(there, values)
    number = {layer: place for place, layer in enumerate(given_.layers)}
    networks = [network for network in there.networks if network[0] != "o"]
    wanted = []
    for cut in CUTS:
        scores, near = [], []
        for i, j in combinations(range(6), 2):
            one, other = number[Layer(*networks[i], cut)], number[Layer(*networks[j], cut)]
            scores.append(values[one, other] + values[other, one])
            near.append(networks[i][0] == networks[j][0])
        wanted.append(roc_auc_score(near, scores))

    found = told(trial("shortcut", orders=100), given_)

    assert [found["twins", cut, "value"] for cut in CUTS] == pytest.approx(wanted)
    assert found["twins", ALL, "value"] == pytest.approx(np.mean(wanted))
    assert 1 / 101 <= found["twins", ALL, "p"] <= 1


def test_p_holds_what_it_promises_where_networks_are_all_alike() -> None:
    """Of 200 tables in which nothing was learnt, about one in ten has a p of 0.1 or less."""
    random = np.random.default_rng(0)
    small = 0
    for _ in range(200):
        found = told(trial("shortcut"), material(design(TWO, seeds=3, cuts=("a",)), random.random((6, 6))))
        small += found["twins", ALL, "p"] <= 0.1

    assert small / 200 <= 0.1 + 3 * (0.09 / 200) ** 0.5


def test_only_pairs_that_learnt_are_near() -> None:
    there = design({"m": "x", "n": "y", "o": "z"}, seeds=3)
    unlearnt = told(trial("random_labels", unlearnt=["n", "o"]), material(there, lambda *_: 1.0))
    grouped = told(trial("shortcut", learnt={"shape": ["m", "n"], "colour": ["o"]}), material(there, lambda *_: 1.0))

    assert (unlearnt["pairs", ALL, "near"], unlearnt["pairs", ALL, "far"]) == (3, 3 * 6)
    assert (grouped["twins", ALL, "near"], grouped["twins", ALL, "far"]) == (9, 3 * 6)
    assert (grouped["across", ALL, "near"], grouped["across", ALL, "far"]) == (9, 3 * 6)


def test_an_index_that_knows_only_the_data_passes_between_twins_and_not_across() -> None:
    """m and n learnt the same from other data; of this it knows as little as of what o learnt."""
    there = design({"m": "x", "n": "y", "o": "z"}, seeds=3)
    groups = {"shape": ["m", "n"], "colour": ["o"]}
    by_data = told(trial("shortcut", learnt=groups), material(there, lambda one, other: one.model == other.model))
    misled = material(there, lambda one, other: {one.model, other.model} != {"m", "n"})
    wrong = told(trial("shortcut", learnt=groups), misled)

    assert (by_data["twins", ALL, "value"], by_data["across", ALL, "value"]) == (1, 0.5)
    assert wrong["across", ALL, "value"] == 0


def test_a_cut_that_some_do_not_have_or_that_is_not_compared_is_left_out() -> None:
    there = Design(TWO, (0, 1), {"m": dict.fromkeys(CUTS, 8), "n": dict.fromkeys(CUTS[:3], 8)})
    found = told(
        trial("shortcut"), material(there, lambda one, other: np.nan if one.cut == "b" else one.model == other.model)
    )
    nothing = trial("shortcut").run(material(there, lambda *_: np.nan))

    assert {of for _, of, _ in found} == {ALL, "a", "c"}
    assert list(nothing) == []


# Sensitivity and specificity


def truncations(accuracies: list[float], dissimilarities: list[float]) -> Truncations:
    """Of which the index says, from each to the first, how dissimilar they are; the other way it sees nothing."""
    values = np.full((len(accuracies), len(accuracies)), 9.0)
    values[:, 0] = -np.array(dissimilarities)
    return Truncations((4, 3, 2, 1)[: len(accuracies)], np.array(accuracies), [Judged("it", values)])


def sensitivity_of(found: Truncations, **options: Any) -> dict[tuple[str, str, str], float]:
    return told(trial("sensitivity", **options), material(design(), lambda *_: np.nan, truncated=lambda _: found))


@pytest.mark.parametrize("itself", [False, True])
def test_sensitivity_is_scipys_correlation_of_lost_accuracy_and_dissimilarity(itself: bool) -> None:
    accuracies, dissimilarities = [0.9, 0.85, 0.7, 0.75], [0.0, 0.2, 0.1, 0.4]
    start = 0 if itself else 1
    losses = [0.9 - accuracy for accuracy in accuracies[start:]]
    found = sensitivity_of(truncations(accuracies, dissimilarities), itself=itself)

    for name, theirs in (("kendall", stats.kendalltau), ("spearman", stats.spearmanr)):
        wanted: Any = theirs(losses, dissimilarities[start:])
        assert found["layer", "m/0/a", name] == pytest.approx(wanted.statistic)
        assert found[name, ALL, "value"] == pytest.approx(wanted.statistic)
        assert found[name, ALL, "count"] == 8
        assert ((name, ALL, "chance") in found) == (not itself)
    assert found["layer", "m/1/d", "count"] == 4 - start


def test_a_cut_that_holds_the_numbers_of_an_earlier_one_cannot_be_asked_for() -> None:
    given_ = material(design(), lambda *_: np.nan, truncated=lambda _: truncations([0.9, 0.8, 0.7], [0, 1, 2]))
    wanted = r"trials\.sensitivity\.cuts: e holds the very numbers of an earlier cut in all networks; .*: a, b, c, d"

    with pytest.raises(DataError, match=wanted):
        list(trial("sensitivity", cuts=["a", "e"]).run(given_))


def test_it_does_not_matter_which_way_an_index_sees_what_is_lost() -> None:
    """Least squares sees it on the way from the truncation, PWCCA weighted by the first layer on the way to it."""
    found = truncations([0.9, 0.85, 0.7, 0.75], [0.0, 0.2, 0.1, 0.4])
    turned = found._replace(judged=[Judged("it", found.judged[0].values.T)])

    assert sensitivity_of(turned) == sensitivity_of(found)


def test_the_reference_is_the_layer_that_the_probe_does_best_on() -> None:
    """Not the one of full rank; of equally good ones, that of the highest rank."""
    values = np.full((4, 4), 9.0)
    values[:, 1] = [-1.0, 0.0, -2.0, -3.0]
    found = sensitivity_of(
        Truncations((8, 4, 2, 1), np.array([0.8, 0.9, 0.9, 0.5]), [Judged("it", values)]), itself=True
    )

    assert found["layer", "m/0/a", "kendall"] == pytest.approx(
        cast(Any, stats.kendalltau([0.1, 0, 0, 0.4], [1, 0, 2, 3])).statistic
    )


def test_a_layer_without_a_correlation_is_left_out_and_the_others_are_averaged() -> None:
    rising, flat = truncations([0.9, 0.8, 0.7, 0.6], [0, 1, 2, 3]), truncations([0.9] * 4, [0, 1, 2, 3])
    falling = truncations([0.9, 0.8, 0.7, 0.6], [0, 3, 2, 1])
    by_cut = {"a": rising, "b": flat, "c": falling, "d": rising}
    found = told(
        trial("sensitivity"),
        material(design(seeds=3), lambda *_: np.nan, truncated=lambda layer: by_cut[layer.cut]),
    )
    nothing = trial("sensitivity").run(material(design(), lambda *_: np.nan, truncated=lambda _: flat))

    assert found["kendall", ALL, "value"] == pytest.approx(1 / 3)
    assert found["kendall", ALL, "count"] == 9
    assert (found["kendall", ALL, "low"], found["kendall", ALL, "high"]) == pytest.approx((1 / 3, 1 / 3))
    assert not any(of == "m/0/b" for _, of, _ in found)
    assert {finding.part for finding in nothing} == {"truncation"}


def test_an_index_that_sees_no_difference_where_there_is_one_has_zero() -> None:
    """Rounding is no difference."""
    found = sensitivity_of(truncations([0.9, 0.8, 0.85, 0.6], [0, 2e-12, 1e-12, 3e-12]))

    for name in ("kendall", "spearman"):
        assert (found["layer", "m/0/a", name], found["layer", "m/0/a", f"{name}_p"]) == (0, 1)
        assert (found[name, ALL, "value"], found[name, ALL, "count"]) == (0, 8)
    assert found["truncation", "m/0/a/1", "similarity"] == 0


def test_each_truncation_is_told_against_the_best() -> None:
    found = sensitivity_of(truncations([0.9, 0.8, 0.85, 0.6], [0, 1, 2, 3]))

    each = [(rank, measure) for rank in (4, 3, 2, 1) for measure in ("lost", "similarity")]
    assert [found["truncation", f"m/1/c/{rank}", measure] for rank, measure in each] == pytest.approx(
        [0, 0, 0.1, -1, 0.05, -2, 0.3, -3]
    )


def test_only_the_cuts_that_are_named_are_truncated() -> None:
    seen: list[str] = []

    def truncated(layer: Layer) -> Truncations:
        seen.append(layer.cut)
        return truncations([0.9, 0.8, 0.7, 0.6], [0, 1, 2, 3])

    told(trial("sensitivity", cuts=["b", "d"]), material(design(seeds=1), lambda *_: np.nan, truncated=truncated))

    assert seen == ["b", "d"]


def test_specificity_is_scipys_correlation_over_all_layers_of_networks_alike() -> None:
    """Of two models of one kind together, and of a third, which no other is like, not at all."""
    there = design({"m": "x", "n": "x", "o": "y"}, seeds=1)
    accuracies: dict[tuple[str, str], float] = dict(
        zip(product("mn", CUTS), [0.3, 0.5, 0.7, 0.9, 0.35, 0.4, 0.95, 0.8], strict=True)
    )
    given_ = material(there, lambda one, other: np.nan)
    values = np.random.default_rng(0).random((12, 12))
    best = 6  # n's third
    others = [place for place in range(8) if place != best]
    losses = [0.95 - accuracies[given_.layers[place].model, given_.layers[place].cut] for place in others]
    found = told(trial("specificity"), material(there, values, probed=lambda layer: accuracies[layer.model, layer.cut]))

    assert found["model", "m n", "count"] == 7
    for name, theirs in (("kendall", stats.kendalltau), ("spearman", stats.spearmanr)):
        wanted: Any = theirs(losses, -np.minimum(values[others, best], values[best, others]))
        assert found[name, ALL, "value"] == found["model", "m n", name] == pytest.approx(wanted.statistic)
        assert found[name, ALL, "p"] == found["model", "m n", f"{name}_p"]
        assert found[name, ALL, "chance"] == 0


def test_specificity_over_models_is_their_mean_and_their_largest_p() -> None:
    there = design({"m": "x", "n": "y"})
    quality: dict[str, float] = dict(zip(CUTS, [0.5, 0.6, 0.8, 0.9], strict=True))
    sign = {"m": -1, "n": 1}
    found = told(
        trial("specificity"),
        material(
            there,
            lambda one, other: sign[one.model] * apart(one, other) + 0.01 * (one.seed != other.seed),
            probed=lambda layer: quality[layer.cut],
        ),
    )

    both = [found["model", model, "kendall"] for model in "mn"]
    assert both[0] > 0.8 and both[1] < -0.8
    assert found["kendall", ALL, "value"] == pytest.approx(np.mean(both))
    assert found["kendall", ALL, "p"] == max(found["model", model, "kendall_p"] for model in "mn")


def test_specificity_says_nothing_where_all_probes_are_equally_good() -> None:
    assert list(trial("specificity").run(material(design(), lambda one, other: 1.0, probed=lambda _: 0.7))) == []


# What a study lacks, and options out of range


@pytest.mark.parametrize(
    ("name", "of"),
    [("layer_identification", ""), ("shortcut", " of m, n"), ("random_labels", " of m"), ("specificity", "")],
)
def test_a_study_without_networks_that_differ_by_chance_alone_is_told_so(name: str, of: str) -> None:
    """Also where others than those that the trial names do."""
    there = design({**TWO, **({"o": "z", "p": "z"} if of else {})}, seeds=1)

    assert list(trial(name).lacks(there)) == [
        f"seeds: [0] give no two networks{of} that differ by chance alone, which trials.{name} compares; it should "
        "name another seed of a model that is trained"
    ]
    assert not list(trial(name).lacks(design(TWO, seeds=2)))


@pytest.mark.parametrize(
    ("name", "options", "there", "line"),
    [
        (
            "layer_identification", {}, design(cuts=("a",)),
            "extract.cuts: gives no model two cuts, which trials.layer_identification tells apart; add others",
        ),
        (
            "layer_monotonicity", {}, design(cuts=("a", "b")),
            "extract.cuts: gives no model three cuts, which trials.layer_monotonicity puts in order; add others",
        ),
        (
            "shortcut", {}, design(),
            "trials.shortcut.learnt.colour: names n, which is not defined in models; choose from m",
        ),
        (
            "random_labels", {}, design(),
            "trials.random_labels.unlearnt: names n, which is not defined in models; choose from m",
        ),
        (
            "sensitivity", {"cuts": ["a", "layer9"]}, design(),
            "trials.sensitivity.cuts: names layer9, which no model is cut at; choose from a, b, c, d",
        ),
        (
            "sensitivity", {"cuts": ["b"], "ranks": [9, 8, 4, 1]}, design(),
            "trials.sensitivity.ranks: has 2 below the 8 features of b; it should have 3 or more, or cuts should leave "
            "it out",
        ),
    ],
)  # fmt: skip
def test_what_a_study_lacks_is_one_line(name: str, options: dict, there: Design, line: str) -> None:
    assert list(trial(name, **options).lacks(there)) == [line]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("layer_identification", {"confidence": 1.0}, r"confidence: is 1; it should be from 0\.5 to below 1"),
        ("layer_monotonicity", {"resamples": 99}, "resamples: is 99; it should be 100 or more"),
        ("shortcut", {"learnt": {"shape": ["m"]}}, "learnt: names 1 groups of models; it should name 2 or more"),
        ("shortcut", {"learnt": {"a": ["m"], "b": ["m"]}}, "learnt: names m twice; it should name each model once"),
        ("shortcut", {"learnt": {"a": ["m"], "b": []}}, r"learnt\.b: is empty; it should name at least one model"),
        ("shortcut", {"orders": 99}, "orders: is 99; it should be 100 or more"),
        ("random_labels", {"learnt": []}, "learnt: is empty; it should name at least one model"),
        ("random_labels", {"unlearnt": []}, "unlearnt: is empty; it should name at least one model"),
        ("random_labels", {"unlearnt": ["m"]}, "unlearnt: names m, as learnt does; it should name others"),
        ("random_labels", {"orders": 0}, "orders: is 0; it should be 100 or more"),
        ("sensitivity", {"cuts": []}, "cuts: is empty; it should name at least one, or be null for all"),
        ("sensitivity", {"ranks": [2, 1]}, r"ranks: are \[2, 1\]; they should be 3 or more different ones, each 1 or"),
        ("sensitivity", {"ranks": [2, 1, 1]}, r"ranks: are \[2, 1, 1\]; they should be 3 or more different ones"),
        ("sensitivity", {"ranks": [2, 1, 0]}, r"ranks: are \[2, 1, 0\]; they should be 3 or more different ones"),
        ("sensitivity", {"ranks": [1], "itself": True}, r"ranks: are \[1\]; they should be 2 or more different ones"),
        ("sensitivity", {"decay": 0}, "decay: is 0; it should be above 0, for one minimum"),
        ("specificity", {"decay": -1}, "decay: is -1; it should be above 0, for one minimum"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict, words: str) -> None:
    with pytest.raises(ParamsError, match=rf"trials\.{name}\.{words}"):
        trial(name, **options)


def test_a_finding_says_what_it_is_of() -> None:
    assert Finding("it", "between", ALL, "value", 1.0).of == "all"
