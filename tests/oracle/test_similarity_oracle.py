"""Every similarity index against an independent route: SciPy, scikit-learn, NumPy, or the formula as it is in print."""

import tracemalloc
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import linalg, spatial, stats
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import NearestNeighbors

from pipeline.layers import opened
from pipeline.registry import lookup
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.views import LayerError
from tests.oracle.conformance import Agreement
from tests.property.test_similarity import Held, value

N = 90
RANDOM = np.random.default_rng(11)


def flat(name: str, *options: object) -> Index:
    """Of flattened layers, with its other options in the order of its fields."""
    return lookup(name, INDICES, name)(*options, "flattened")


def orthonormal(x: np.ndarray) -> np.ndarray:
    return np.linalg.qr(x)[0]


def related(one: int, other: int, samples: int = N) -> tuple[np.ndarray, np.ndarray]:
    shared = RANDOM.standard_normal((samples, 3))
    x, y = (
        shared @ RANDOM.standard_normal((3, d)) + RANDOM.standard_normal((samples, d)) * np.geomspace(2, 0.5, d) + 4
        for d in (one, other)
    )
    return x, y


def centred(x: np.ndarray) -> np.ndarray:
    return x - x.mean(0)


def unit(x: np.ndarray) -> np.ndarray:
    return centred(x) / np.linalg.norm(centred(x))


def canonical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """SciPy's angles between the spaces that the columns span, by QR and without any squaring."""
    return np.cos(linalg.subspace_angles(centred(x), centred(y)))


oracle = pytest.mark.oracle
widths = pytest.mark.parametrize("shape", [(7, 12), (12, 7), (9, 9)])
wider = pytest.mark.parametrize("shape", [(7, 12), (12, 7), (140, 9), (9, 140), (140, 200)])


def u_statistic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Song et al. 2012, eq. 5, as it stands."""
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))  # noqa: E741
    ones = np.ones(n)
    mixed = 2 * ones @ k @ l @ ones / (n - 2)
    return (np.trace(k @ l) + ones @ k @ ones * (ones @ l @ ones) / (n - 1) / (n - 2) - mixed) / n / (n - 3)


def unbiased_cka(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    return u_statistic(k, l) / np.sqrt(u_statistic(k, k) * u_statistic(l, l))


def biased_cka(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    centring = np.eye(len(k)) - 1 / len(k)
    k, l = centring @ k @ centring, centring @ l @ centring  # noqa: E741
    return (k * l).sum() / np.sqrt((k * k).sum() * (l * l).sum())


ESTIMATES = {"biased": biased_cka, "unbiased": unbiased_cka}


@oracle("similarity.linear_cka", "Gretton's and Song's sums of uncentred kernels, as printed", 1e-11)
@wider
@pytest.mark.parametrize("estimator", ESTIMATES)
def test_linear_cka_is_the_formula_in_print_of_uncentred_kernels(
    agree: Agreement, shape: tuple[int, int], estimator: str
) -> None:
    x, y = related(*shape)

    agree(value(flat("linear_cka", estimator), x, y), ESTIMATES[estimator](x @ x.T, y @ y.T))


@oracle("similarity.rbf_cka", "the same of scikit-learn's `rbf_kernel` at the median of SciPy's `pdist`", 1e-11)
@wider
@pytest.mark.parametrize("estimator", ESTIMATES)
def test_rbf_cka_is_that_of_scikit_learns_kernels(agree: Agreement, shape: tuple[int, int], estimator: str) -> None:
    x, y = related(*shape)
    kernels = [rbf_kernel(z, gamma=1 / (2 * (0.6 * np.median(pdist(z))) ** 2)) for z in (x, y)]

    agree(value(flat("rbf_cka", 0.6, estimator), x, y), ESTIMATES[estimator](*kernels))


@oracle("similarity.distance_correlation", "the sums in print over `pdist`; U-centring written out", 1e-11)
@wider
def test_distance_correlation_is_the_formula_in_print(agree: Agreement, shape: tuple[int, int]) -> None:
    """Székely, Rizzo & Bakirov 2007, definition 3; and Székely & Rizzo 2014, whose U-centring is written out."""
    x, y = related(*shape)
    a, b = (squareform(pdist(z)) for z in (x, y))

    def u_centred(d: np.ndarray) -> np.ndarray:
        n = len(d)
        rows = d.sum(1, keepdims=True)
        found = d - rows / (n - 2) - rows.T / (n - 2) + d.sum() / (n - 1) / (n - 2)
        np.fill_diagonal(found, 0)
        return found

    u, v = u_centred(a), u_centred(b)
    agree(value(flat("distance_correlation", "biased"), x, y), np.sqrt(biased_cka(a, b)))
    agree(value(flat("distance_correlation", "unbiased"), x, y), (u * v).sum() / np.sqrt((u * u).sum() * (v * v).sum()))


@oracle("similarity.mean_cca", "`scipy.linalg.subspace_angles`", 1e-12)
@widths
def test_mean_cca_is_that_of_scipys_angles_between_subspaces(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)

    agree(value(flat("mean_cca"), x, y), canonical(x, y).mean())


@oracle("similarity.svcca", "`numpy.linalg.svd` of each layer, then `subspace_angles`", 1e-12)
@widths
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1.0])
def test_svcca_is_cca_of_numpys_leading_directions(agree: Agreement, shape: tuple[int, int], share: float) -> None:
    x, y = related(*shape)

    def leading(z: np.ndarray) -> np.ndarray:
        u, s, _ = np.linalg.svd(centred(z), full_matrices=False)
        kept = next(k for k in range(1, len(s) + 1) if (s[:k] ** 2).sum() >= share * (s**2).sum() * (1 - 1e-12))
        return u[:, :kept] * s[:kept]

    agree(value(flat("svcca", share), x, y), canonical(leading(x), leading(y)).mean())


PWCCA = oracle(
    "similarity.pwcca",
    "Morcos et al.'s sum over a QR of both layers; closed forms where layers share directions",
    1e-12,
)


def pwcca_weights(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of X's directions that have a partner, by QR; and canonical correlations."""
    u, s, _ = np.linalg.svd(orthonormal(centred(x)).T @ orthonormal(centred(y)))
    directions = orthonormal(centred(x)) @ u
    return np.abs(directions.T @ centred(x)).sum(1)[: len(s)], s


@PWCCA
@widths
def test_pwcca_of_raghu_is_morcos_formula_both_ways(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)
    ways = [np.average(s, weights=w) for w, s in (pwcca_weights(x, y), pwcca_weights(y, x))]

    agree(value(flat("pwcca", "raghu"), x, y), np.mean(ways))


@PWCCA
@pytest.mark.parametrize("shape", [(7, 12), (9, 9)])
def test_pwcca_of_ding_is_the_first_layers_weighting(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)
    weights, correlations = pwcca_weights(x, y)

    agree(value(flat("pwcca", "ding"), x, y), np.average(correlations, weights=weights))


@PWCCA
def test_pwcca_of_ding_counts_directions_without_a_partner_as_correlating_nothing(agree: Agreement) -> None:
    """X has 4 features at right angles and Y is one of them, so each feature weighs its length."""
    features = orthonormal(centred(RANDOM.standard_normal((N, 4)))) * [3.0, 1.0, 2.0, 4.0]

    agree(value(flat("pwcca", "ding"), features, features[:, 2:3]), 2 / 10)
    agree(value(flat("pwcca", "raghu"), features, features[:, 2:3]), 1)


@pytest.mark.parametrize("width", [9, 200])
def test_pwcca_into_a_layer_that_spans_all_centred_rows_is_one(width: int) -> None:
    """By SciPy all its correlations are 1, and so is their mean by any weights."""
    x, y = related(width, 140)
    spanning = linalg.subspace_angles(orthonormal(centred(x))[:, : min(width, N - 1)], linalg.orth(centred(y)))

    assert np.cos(spanning) == pytest.approx(1, abs=1e-12)
    assert value(flat("pwcca", "ding"), x, y) == value(flat("pwcca", "raghu"), x, y) == 1
    assert value(flat("pwcca", "raghu"), y, x) == 1
    assert (value(flat("pwcca", "ding"), y, x) < 0.9) == (width == 9)


@oracle(
    "similarity.procrustes",
    "`scipy.linalg.orthogonal_procrustes` and `scipy.spatial.procrustes`, the narrower layer filled with zeros",
    1e-12,
)
@widths
def test_procrustes_is_scipys(agree: Agreement, shape: tuple[int, int]) -> None:
    """`scipy.linalg.orthogonal_procrustes`, the narrower layer filled with zeros; and `scipy.spatial.procrustes`."""
    x, y = (np.pad(unit(z), ((0, 0), (0, 12 - z.shape[1]))) for z in related(*shape))
    scale = linalg.orthogonal_procrustes(x, y)[1]

    agree(value(flat("procrustes", "squared"), x, y), 2 - 2 * scale)
    agree(value(flat("procrustes", "angular"), x, y), np.arccos(scale))
    agree((1 - value(flat("procrustes", "squared"), x, y) / 2) ** 2, 1 - spatial.procrustes(x, y)[2])


@oracle(
    "similarity.least_squares",
    '`numpy.linalg.lstsq`; scikit-learn\'s `r2_score(multioutput="variance_weighted")`',
    1e-11,
)
@wider
def test_least_squares_is_numpys_and_scikit_learns(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)
    left = centred(y) - centred(x) @ np.linalg.lstsq(centred(x), centred(y))[0]
    residual = (left**2).sum() / (centred(y) ** 2).sum()
    r2 = r2_score(y, LinearRegression().fit(x, y).predict(x), multioutput="variance_weighted")

    agree(value(flat("least_squares", "residual"), x, y), residual)
    agree(value(flat("least_squares", "r2"), x, y), r2)


COMPARISONS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}


@oracle("similarity.rsa", "SciPy's `pdist`, then `spearmanr`, `pearsonr` and `kendalltau`", 1e-10)
@wider
@pytest.mark.parametrize("dissimilarity", ["correlation", "euclidean", "cosine"])
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_rsa_is_scipys(agree: Agreement, shape: tuple[int, int], dissimilarity: Any, comparison: str) -> None:
    x, y = related(*shape)
    wanted = COMPARISONS[comparison](pdist(x, dissimilarity), pdist(y, dissimilarity)).statistic

    agree(value(flat("rsa", dissimilarity, comparison), x, y), wanted)


def neighbours(z: np.ndarray, k: int, metric: str) -> list[set[int]]:
    found = NearestNeighbors(n_neighbors=k, metric=metric).fit(z).kneighbors(return_distance=False)
    return [set(row.tolist()) for row in found]


@oracle("similarity.mutual_knn", "scikit-learn's `NearestNeighbors`", 1e-12)
@wider
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_mutual_neighbours_are_scikit_learns(agree: Agreement, shape: tuple[int, int], distance: str) -> None:
    x, y = related(*shape)
    pairs = zip(neighbours(x, 10, distance), neighbours(y, 10, distance), strict=True)

    agree(value(flat("mutual_knn", 10, distance), x, y), np.mean([len(one & other) / 10 for one, other in pairs]))


@oracle("similarity.cknna", "the sum in print, entry by entry, over scikit-learn's cosines and neighbours", 1e-11)
@wider
def test_cknna_is_the_sum_in_print(agree: Agreement, shape: tuple[int, int]) -> None:
    """Huh et al. 2024, appendix A, entry by entry over scikit-learn's cosines and neighbours."""
    x, y = related(*shape)
    tables = [cosine_similarity(z) for z in (x, y)]
    near = [neighbours(z, 10, "cosine") for z in (x, y)]

    def align(a: int, b: int) -> float:
        return sum(
            (tables[a][i, j] - tables[a][i].mean()) * (tables[b][i, j] - tables[b][i].mean())
            for i in range(N)
            for j in near[a][i] & near[b][i]
        )

    wanted = align(0, 1) / np.sqrt(align(0, 0) * align(1, 1))
    agree(value(flat("cknna", 10), x, y), wanted)


@oracle("similarity.second_order_cosine", "the mean in print, sample by sample, over the same", 1e-11)
@wider
def test_second_order_cosine_is_the_mean_in_print(agree: Agreement, shape: tuple[int, int]) -> None:
    """Hamilton et al. 2016, eq. 2 and 3, sample by sample over scikit-learn's cosines and neighbours."""
    x, y = related(*shape)
    tables = [cosine_similarity(z) for z in (x, y)]
    near = [neighbours(z, 10, "cosine") for z in (x, y)]
    found = []
    for i in range(N):
        both = sorted(near[0][i] | near[1][i])
        found.append(cosine_similarity(tables[0][i, both][None], tables[1][i, both][None])[0, 0])

    agree(value(flat("second_order_cosine", 10), x, y), np.mean(found))


ON_FACTORS: list[Index] = [
    flat("linear_cka", "biased"),
    flat("linear_cka", "unbiased"),
    flat("mean_cca"),
    flat("svcca", 0.99),
    flat("pwcca", "raghu"),
    flat("pwcca", "ding"),
    flat("procrustes", "squared"),
    flat("procrustes", "angular"),
    flat("least_squares", "residual"),
]
factored = pytest.mark.parametrize("measure", ON_FACTORS, ids=repr)


def seen(measure: Index, of: str) -> Index:
    return type(measure)(**{**vars(measure), "of": of})


@factored
def test_rows_are_what_of_says(measure: Index) -> None:
    """Each view of maps is what the index gives for the rows written out by hand."""
    x, y = RANDOM.standard_normal((30, 3, 2, 4)), RANDOM.standard_normal((30, 5, 2, 4))
    by_places = [np.stack([z[n, :, i, j] for n in range(30) for i in range(2) for j in range(4)]) for z in (x, y)]

    assert value(seen(measure, "pooled"), x, y) == pytest.approx(value(measure, x.mean((2, 3)), y.mean((2, 3))))
    assert value(seen(measure, "positions"), x, y) == pytest.approx(value(measure, *by_places))
    assert value(measure, x, y) == pytest.approx(value(measure, x.reshape(30, -1), y.reshape(30, -1)))


@factored
def test_rows_of_tokens_are_tokens_and_their_features_come_last(measure: Index) -> None:
    x, y = RANDOM.standard_normal((30, 6, 3)), RANDOM.standard_normal((30, 6, 5))

    assert value(seen(measure, "pooled"), x, y) == pytest.approx(value(measure, x.mean(1), y.mean(1)))
    assert value(seen(measure, "positions"), x, y) == pytest.approx(value(measure, x.reshape(-1, 3), y.reshape(-1, 5)))


@factored
def test_the_rule_of_balogh2025_goes_by_equal_shapes(measure: Index) -> None:
    x, same, other = (RANDOM.standard_normal((30, c, 2, 4)) for c in (3, 3, 5))
    rule = seen(measure, "balogh2025").matrix([Held(z) for z in (x, same, other)], 10**6)

    assert rule[0, 1] == pytest.approx(value(seen(measure, "positions"), x, same))
    assert rule[0, 2] == pytest.approx(value(seen(measure, "pooled"), x, other))


@factored
def test_layers_of_unequal_places_have_no_number_by_positions(measure: Index) -> None:
    held = [Held(RANDOM.standard_normal((30, 3, side, side))) for side in (2, 3)]
    found = seen(measure, "positions").matrix(held, 10**6)

    assert np.isnan(found[0, 1])
    assert np.isnan(found[1, 0])
    assert not np.isnan(found.diagonal()).any()


# Faults that other tools were measured to have (the indices here have none of them).


def test_unrelated_layers_are_unlike_by_the_unbiased_estimate_alone() -> None:
    x, y = RANDOM.standard_normal((300, 270)), RANDOM.standard_normal((300, 270))

    assert value(flat("linear_cka", "biased"), x, y, memory=10**8) > 0.4
    assert value(flat("mean_cca"), x, y, memory=10**8) > 0.85
    assert abs(value(flat("linear_cka", "unbiased"), x, y, memory=10**8)) < 0.02
    assert abs(value(flat("distance_correlation", "unbiased"), x, y, memory=10**8)) < 0.02


@pytest.mark.parametrize(
    "measure", [flat("linear_cka", "unbiased"), flat("distance_correlation", "unbiased")], ids=repr
)
def test_what_is_unbiased_is_not_held_above_zero(measure: Index) -> None:
    found = [value(measure, RANDOM.standard_normal((20, 8)), RANDOM.standard_normal((20, 8))) for _ in range(30)]

    assert min(found) < -0.01
    assert abs(np.mean(found)) < 0.05


def test_unbiased_cka_of_float32_far_from_zero_keeps_its_digits() -> None:
    """Features all above zero, as after a ReLU, where a float32 sum of uncentred products is wrong in the 3rd digit."""
    x, y = (np.maximum(z, 0).astype(np.float32) + 100 for z in related(40, 60))
    exact = unbiased_cka(*(centred(z.astype(np.float64)) @ centred(z.astype(np.float64)).T for z in (x, y)))

    assert value(flat("linear_cka", "unbiased"), x, y) == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("measure", [flat("pwcca", "raghu"), flat("pwcca", "ding"), flat("mean_cca")], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_layer_of_low_rank_is_like_itself_and_its_coordinates(measure: Index, dtype: type) -> None:
    coordinates = RANDOM.standard_normal((N, 4))
    x = (coordinates @ RANDOM.standard_normal((4, 20))).astype(dtype)

    assert value(measure, x, x) == pytest.approx(1, abs=1e-12)
    assert value(measure, x, coordinates) == pytest.approx(1, abs=1e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("weights", ["raghu", "ding"])
def test_a_layer_truncated_in_float32_compares_as_in_float64(weights: str) -> None:
    x = RANDOM.standard_normal((500, 64)) * np.geomspace(1, 0.1, 64)
    u, s, v = np.linalg.svd(centred(x), full_matrices=False)
    truncated = (u[:, :16] * s[:16]) @ v[:16]

    for pair in ((x, truncated), (truncated, x)):
        exact = value(flat("pwcca", weights), *pair)
        assert value(flat("pwcca", weights), *(z.astype(np.float32) for z in pair)) == pytest.approx(exact, abs=1e-5)
    assert value(flat("pwcca", weights), truncated.astype(np.float32), x) == pytest.approx(1, abs=1e-6)


def test_a_truncated_layer_weighs_as_much_as_is_left_of_it() -> None:
    """In principal directions every weight has a closed form: its deviation times the sum of its loadings' sizes."""
    u, s, v = np.linalg.svd(centred(RANDOM.standard_normal((500, 64))), full_matrices=False)
    weights = s * np.abs(v).sum(1)

    found = value(flat("pwcca", "ding"), (u * s) @ v, (u[:, :16] * s[:16]) @ v[:16])

    assert found == pytest.approx(weights[:16].sum() / weights.sum(), abs=1e-9)


def test_svcca_keeps_as_many_directions_as_hold_the_share() -> None:
    """Deviations 4, 2, 1 and 1 hold 16, 20, 21 and 22 of 22 parts."""
    basis = orthonormal(centred(RANDOM.standard_normal((N, 4))))
    x = basis * [4.0, 2.0, 1.0, 1.0]

    assert value(flat("svcca", 0.7), x, basis[:, :1]) == pytest.approx(1)
    assert value(flat("svcca", 0.9), x, basis[:, 1:2]) == pytest.approx(1)
    assert value(flat("svcca", 0.9), x, basis[:, 2:3]) == pytest.approx(0, abs=1e-9)


def test_svcca_of_all_variance_is_blind_to_invertible_maps() -> None:
    x = RANDOM.standard_normal((N, 12))

    assert value(flat("svcca", 1.0), x, x @ RANDOM.standard_normal((12, 12))) == pytest.approx(1, abs=1e-9)
    assert value(flat("svcca", 0.99), x, x @ orthonormal(RANDOM.standard_normal((12, 12)))) == pytest.approx(1)


def test_weak_directions_are_as_orthonormal_as_strong_ones() -> None:
    """A spread of 10⁵ between deviations, where squaring leaves half the digits."""
    x, y = RANDOM.standard_normal((N, 10)) * np.geomspace(1, 1e-5, 10), RANDOM.standard_normal((N, 10))

    assert value(flat("mean_cca"), x, x) == pytest.approx(1, abs=1e-10)
    assert value(flat("mean_cca"), x, y) == pytest.approx(canonical(x, y).mean(), abs=1e-8)


EQUAL = "layer 0 has all samples equally far apart"
REFUSED = [
    (lambda: flat("rbf_cka", 0.0, "biased"), r"bandwidth: is 0; it should be above 0"),
    (lambda: flat("svcca", 1.1), r"variance: is 1\.1; it should be above 0 and at most 1"),
    (lambda: flat("mutual_knn", 0, "cosine"), r"k: is 0; it should be 1 or more"),
    (lambda: flat("cknna", 0), r"k: is 0; it should be 1 or more"),
    (lambda: flat("second_order_cosine", 0), r"k: is 0; it should be 1 or more"),
    (lambda: value(flat("cknna", 5), *related(3, 3, 5)), r"k: is 5; it should be below the number of samples, 5"),
    *(
        (lambda each=each: value(each, *related(3, 3, 3)), r"estimator: is unbiased of 3 samples; it should be of 4")
        for each in (
            flat("linear_cka", "unbiased"),
            flat("distance_correlation", "unbiased"),
            flat("rbf_cka", 1.0, "unbiased"),
        )
    ),
    (lambda: value(flat("rsa", "cosine", "pearson"), *[np.eye(5)[:, :3]] * 2), "layer 0 has no direction for sample 3"),
    (lambda: value(flat("rsa", "euclidean", "pearson"), np.eye(5), np.eye(5)), EQUAL),
    (lambda: value(flat("distance_correlation", "unbiased"), np.eye(6), np.eye(6)), EQUAL),
    (lambda: value(flat("linear_cka", "unbiased"), np.eye(6), np.eye(6)), EQUAL),
    (lambda: value(flat("rbf_cka", 1.0, "biased"), *[np.eye(9)[:, :1]] * 2), r"layer 0 has most of its samples equal"),
]


@pytest.mark.parametrize(("attempt", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_has_no_number_is_refused_in_one_line(attempt: Callable[[], object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        attempt()


@pytest.mark.parametrize("measure", [each for each in ON_FACTORS if "CKA" not in repr(each)], ids=repr)
def test_a_layer_too_large_to_be_factorised_is_refused_before_any_is_read(measure: Index) -> None:
    class Unread(Held):
        def read(self, start: int, stop: int) -> np.ndarray:
            raise AssertionError("was read")

    held = [Unread(np.empty((1500, width), np.float32)) for width in (3, 1400)]

    message = (
        "layer 1 has the smaller of samples and features at 1400, to factorise which takes 0.0784 GB; "
        "set machine.memory_gb to that or more, or `of` to what has fewer features"
    )
    with pytest.raises(LayerError, match=f"^{message}$"):
        measure.matrix(held, 78_000_000)


def test_what_is_held_is_about_what_may_be() -> None:
    """By what Python counts, of ten layers that would need twice as much, permuted and with samples left out."""
    held = [Held(RANDOM.standard_normal((300, width))) for width in (400, 500, 20, 350, 40, 600, 400, 300, 30, 500)]
    budget = 8_000_000
    measures = [flat("linear_cka", "biased"), flat("mutual_knn", 5, "cosine"), flat("second_order_cosine", 5)]
    measures += [flat("procrustes", "squared"), flat("rsa", "euclidean", "pearson"), flat("rbf_cka", 1.0, "biased")]
    orders = [RANDOM.permutation(300) for _ in range(2)]

    for measure in measures:
        tracemalloc.start()
        with opened(held, budget) as layers:
            matrices = list(measure.matrices(layers, orders))
            with layers.without(np.arange(30)) as some:
                matrices += measure.matrices(some, [some.as_they_are])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert len(matrices) == 3
        assert peak < 1.2 * budget, measure


@pytest.mark.parametrize(("name", "options"), [("linear_cka", ["biased"]), ("mean_cca", [])])
def test_places_are_permuted_in_the_memory_there_is(name: str, options: list[str]) -> None:
    """Layers of 60 × 256 rows, 4.9 MB each."""
    held = [Held(RANDOM.standard_normal((60, 40, 16, 16))) for _ in range(3)]
    measure = lookup(name, INDICES, name)(*options, "positions")
    budget = 2_000_000

    tracemalloc.start()
    with opened(held, budget) as layers:
        matrices = list(measure.matrices(layers, [layers.as_they_are, RANDOM.permutation(60)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(matrices) == 2
    assert peak < 1.5 * budget


def test_the_factors_of_many_layers_lie_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As files that are gone afterwards."""
    made = []
    memmap = np.lib.format.open_memmap
    monkeypatch.setattr(np.lib.format, "open_memmap", lambda path, *rest: made.append(path) or memmap(path, *rest))
    held = [Held(RANDOM.standard_normal((N, d))) for d in (5, 8, 120)]

    small, large = (flat("mean_cca").matrix(held, memory) for memory in (20_000, 10**9))

    assert made
    assert not any(path.exists() for path in made)
    assert small == pytest.approx(large, abs=1e-12)
    assert all(small[a, b] == small[b, a] for a, b in combinations(range(3), 2))
