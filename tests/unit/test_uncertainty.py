import numpy as np
import pytest
from scipy import stats

from pipeline.arrays import Held
from pipeline.layers import opened
from pipeline.registry import build
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.uncertainty import Chance, against_chance, groups, jackknife_error

MEMORY = 10**9
BIASED = {"estimator": "biased", "of": "flattened"}


def index(name: str, **options: object) -> Index:
    return build(name, INDICES, name, options)


def cka() -> Index:
    return index("linear_cka", **BIASED)


def gaussians(seed: int, samples: int, *widths: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((samples, width)) for width in widths]


def orders(samples: int, count: int, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.permutation(samples) for _ in range(count)]


def beside(measure: Index, rows: list[np.ndarray], count: int, seed: int = 0) -> tuple[np.ndarray, Chance]:
    """Values of every pair, and how they stand to chance."""
    facts, samples = measure.facts(), len(rows[0])
    with opened([Held(x) for x in rows], MEMORY) as layers:
        values = next(iter(measure.matrices(layers, [np.arange(samples)])))
        drawn = measure.matrices(layers, orders(samples, count, seed))
        return values, against_chance(values, drawn, facts.best, facts.larger_is_more_similar)


def gram(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(0)) @ (x - x.mean(0)).T


def test_the_null_mean_of_biased_cka_is_its_closed_form() -> None:
    """Over all permutations P of centred L, E[P L P'] = tr L / (N - 1) (I - 11' / N)."""
    x, y = gaussians(0, 60, 50, 8)
    k, l = gram(x), gram(y)  # noqa: E741
    wanted = np.trace(k) * np.trace(l) / 59 / np.linalg.norm(k) / np.linalg.norm(l)

    found = beside(cka(), [x, y], 2000)[1].null[0, 1]

    assert found == pytest.approx(wanted, abs=4 * 0.02 / np.sqrt(2000))


def test_the_null_is_that_of_permutations_one_by_one() -> None:
    x, y = gaussians(1, 30, 6, 40)
    drawn = [cka().matrix([Held(x), Held(y[order])], MEMORY)[0, 1] for order in orders(30, 50)]

    values, found = beside(cka(), [x, y], 50)

    mean = np.mean(drawn)
    assert found.null[0, 1] == pytest.approx(mean, abs=1e-12)
    assert found.p[0, 1] == (1 + sum(each >= values[0, 1] for each in drawn)) / 51
    assert found.calibrated[0, 1] == pytest.approx((values[0, 1] - mean) / (1 - mean), abs=1e-12)


def test_unrelated_wide_layers_are_alike_before_and_unlike_after_calibration() -> None:
    values, found = beside(cka(), gaussians(2, 200, 180, 150), 99)

    assert values[0, 1] > 0.4
    assert abs(found.calibrated[0, 1]) < 0.01
    assert found.calibrated.diagonal() == pytest.approx(1, abs=1e-12)
    assert found.p[0, 1] > 0.01
    assert found.p.diagonal() == pytest.approx(0.01)


def test_a_distance_is_calibrated_to_one_where_layers_are_the_same_and_to_nothing_where_they_share_nothing() -> None:
    values, found = beside(index("procrustes", form="squared", of="flattened"), gaussians(3, 60, 20, 20), 99)

    assert values[0, 1] > 0.5
    assert abs(found.calibrated[0, 1]) < 0.05
    assert found.calibrated.diagonal() == pytest.approx(1)
    assert found.p.diagonal() == pytest.approx(0.01)
    assert found.p[0, 1] > 0.01


def test_p_is_uniform_where_layers_share_nothing_and_never_zero() -> None:
    """400 pairs of independent layers, 19 permutations each: p is 1/20, 2/20 … 1, each as often."""
    found = [beside(cka(), gaussians(seed, 12, 4, 5), 19, seed)[1].p[0, 1] for seed in range(400)]

    counts = np.histogram(found, np.arange(0.025, 1.05, 0.05))[0]
    assert counts.sum() == 400
    assert stats.chisquare(counts).pvalue > 1e-3
    assert min(found) == pytest.approx(1 / 20)


@pytest.mark.parametrize(
    ("name", "options"),
    [("mutual_knn", {"distance": "cosine"}), ("cknna", {}), ("second_order_cosine", {})],
)
def test_equal_samples_do_not_pass_for_something_that_layers_share(name: str, options: dict[str, str]) -> None:
    """Layers of few different rows: all samples of a row are equally near, in an order that would be common to all."""
    measure = index(name, k=5, of="flattened", **options)
    found = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        rows = [np.eye(3)[random.integers(3, size=45)] + 0.0 for _ in range(2)]
        found.append(beside(measure, rows, 19, seed)[1].p[0, 1])

    assert np.mean(np.array(found) <= 0.25) < 0.5
    assert np.mean(found) == pytest.approx(0.525, abs=0.2)


def test_an_index_that_tells_nothing_of_so_few_samples_has_no_calibrated_value() -> None:
    """Of as many features as samples every layer spans the same space, so every CCA is 1, permuted or not."""
    values, found = beside(index("mean_cca", of="flattened"), gaussians(4, 10, 12, 15), 9)

    assert values == pytest.approx(1)
    assert np.isnan(found.calibrated).all()
    assert (found.p == 1).all()


def test_a_pair_that_is_not_defined_has_nothing_beside_it() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 1.0]])
    found = against_chance(values, [values * 0.5, values * 0.25], 1.0, True)

    assert np.isnan([found.null[0, 1], found.p[0, 1], found.calibrated[0, 1]]).all()
    assert found.p[0, 0] == pytest.approx(1 / 3)


def test_groups_hold_every_sample_once_and_are_of_a_size() -> None:
    found = groups(23, 5, np.random.default_rng(0))

    assert sorted(np.concatenate(found)) == list(range(23))
    assert {len(group) for group in found} == {4, 5}


def test_the_error_of_a_mean_is_the_one_in_books() -> None:
    """Left out one by one, the jackknife error of a mean is the deviation over the root of the count."""
    sample = np.random.default_rng(0).standard_normal(40)
    left = [np.delete(sample, i).mean(keepdims=True) for i in range(40)]

    found = jackknife_error(sample.mean(keepdims=True), left, [1] * 40, 9.0)

    assert found == pytest.approx(sample.std(ddof=1) / np.sqrt(40))


def test_equal_groups_give_the_plain_formula() -> None:
    random = np.random.default_rng(1)
    left = [random.standard_normal((3, 3)) for _ in range(8)]
    wanted = np.sqrt(7 / 8 * ((np.stack(left) - np.mean(left, 0)) ** 2).sum(0))

    assert jackknife_error(random.standard_normal((3, 3)), left, [5] * 8, 9.0) == pytest.approx(wanted)


def error(measure: Index, rows: list[np.ndarray], parts: list[np.ndarray]) -> np.ndarray:
    left = []
    with opened([Held(x) for x in rows], MEMORY) as layers:
        (values,) = measure.matrices(layers, [layers.as_they_are])
        for part in parts:
            with layers.without(part) as some:
                left += measure.matrices(some, [some.as_they_are])
    return jackknife_error(values, left, [len(part) for part in parts], measure.facts().best)


@pytest.mark.parametrize(
    ("name", "options"), [("mean_cca", {}), ("least_squares", {"form": "r2"}), ("linear_cka", {"estimator": "biased"})]
)
def test_where_fewer_samples_make_an_index_perfect_it_has_no_error(name: str, options: dict[str, str]) -> None:
    """57 features leave 60 samples something to tell, and any 54 of them nothing; CKA does not mind."""
    rows, parts = gaussians(5, 60, 57, 3), groups(60, 10, np.random.default_rng(0))

    found = error(index(name, of="flattened", **options), rows, parts)

    assert np.isnan(found[0, 1]) == (name != "linear_cka")
    assert found.diagonal() == pytest.approx(0, abs=1e-9)


def test_the_error_of_unequal_groups_is_that_of_layers_written_out_anew() -> None:
    """Busing, Meijer & van der Leeden 1999, eq. 8 and 9, group by group."""
    rows = gaussians(6, 22, 5, 7)
    parts = groups(22, 4, np.random.default_rng(0))

    def whole(kept: np.ndarray) -> float:
        return cka().matrix([Held(x[kept]) for x in rows], MEMORY)[0, 1]

    value, everyone = whole(np.arange(22)), np.arange(22)
    left = [whole(np.setdiff1d(everyone, part)) for part in parts]
    h = [22 / len(part) for part in parts]
    estimate = 4 * value - sum((1 - len(part) / 22) * each for part, each in zip(parts, left, strict=True))
    terms = [(a * value - (a - 1) * b - estimate) ** 2 / (a - 1) for a, b in zip(h, left, strict=True)]

    assert error(cka(), rows, parts)[0, 1] == pytest.approx(np.sqrt(sum(terms) / 4))


def related(random: np.random.Generator, samples: int) -> list[np.ndarray]:
    shared = random.standard_normal((samples, 3))
    return [shared @ MIXING[i] + 0.7 * random.standard_normal((samples, 6)) for i in range(2)]


MIXING = np.random.default_rng(9).standard_normal((2, 3, 6))


def ratio(measure: Index) -> float:
    """Errors of 30 draws of 150 samples from one distribution, over the deviation of 200 other draws."""
    random = np.random.default_rng(3)
    draws = [measure.matrix([Held(x) for x in related(random, 150)], MEMORY)[0, 1] for _ in range(200)]
    parts = [groups(150, 10, np.random.default_rng(i)) for i in range(30)]
    errors = [error(measure, related(random, 150), part)[0, 1] for part in parts]
    return float(np.sqrt(np.mean(np.square(errors))) / np.std(draws, ddof=1))


SMOOTH = [
    cka(),
    index("linear_cka", estimator="unbiased", of="flattened"),
    index("procrustes", form="squared", of="flattened"),
    index("rsa", dissimilarity="euclidean", comparison="pearson", of="flattened"),
]
ROUGH = [index("mean_cca", of="flattened"), index("mutual_knn", k=10, distance="cosine", of="flattened")]


@pytest.mark.parametrize("measure", SMOOTH, ids=repr)
def test_the_error_is_the_spread_over_fresh_samples(measure: Index) -> None:
    assert ratio(measure) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("measure", ROUGH, ids=repr)
def test_the_error_of_what_is_not_smooth_is_rather_too_large(measure: Index) -> None:
    """Of neighbours, and of canonical correlations that are really 0 and can only be estimated above it."""
    assert 1 < ratio(measure) < 1.7
