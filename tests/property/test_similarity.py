"""Every similarity index is what it declares itself to be."""

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from pipeline.registry import build
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.similarity.rsa import rank

FLAT = {"of": "flattened"}
OPTIONS: dict[str, list[dict]] = {
    "linear_cka": [{"estimator": each, **FLAT} for each in ("biased", "unbiased")],
    "rbf_cka": [{"bandwidth": 0.7, "estimator": each, **FLAT} for each in ("biased", "unbiased")],
    "mean_cca": [FLAT],
    "svcca": [{"variance": each, **FLAT} for each in (0.8, 1.0)],
    "pwcca": [{"weights": each, **FLAT} for each in ("raghu", "ding")],
    "procrustes": [{"form": each, **FLAT} for each in ("squared", "angular")],
    "least_squares": [{"form": each, **FLAT} for each in ("residual", "r2")],
    "rsa": [
        {"dissimilarity": one, "comparison": other, **FLAT}
        for one in ("correlation", "euclidean", "cosine")
        for other in ("spearman", "pearson", "kendall")
    ],
    "distance_correlation": [{"estimator": each, **FLAT} for each in ("biased", "unbiased")],
    "mutual_knn": [{"k": 2, "distance": each, **FLAT} for each in ("cosine", "euclidean")],
    "cknna": [{"k": 3, **FLAT}],
    "second_order_cosine": [{"k": 3, **FLAT}],
}
CASES = [(name, options) for name in INDICES for options in OPTIONS.get(name, [{}])]
every_case = pytest.mark.parametrize(("name", "options"), CASES, ids=lambda x: x if isinstance(x, str) else "")
MEMORY = 10_000  # so little that everything streams


@dataclass(frozen=True)
class Held:
    """Activations in memory."""

    rows: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rows.shape

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.rows[start:stop]

    def take(self, indices: np.ndarray) -> np.ndarray:
        return self.rows[indices]


def index(name: str, options: dict) -> Index:
    return build(name, INDICES, name, options)


def value(measure: Index, one: np.ndarray, other: np.ndarray, *, memory: int = MEMORY) -> float:
    return float(measure.matrix([Held(one), Held(other)], memory)[0, 1])


def layers(seed: int, samples: int, one: int, other: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(seed)
    shared = random.standard_normal((samples, 2))
    x, y = (shared @ random.standard_normal((2, d)) + random.standard_normal((samples, d)) for d in (one, other))
    return x, y, random


def orthogonal(width: int, random: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(random.standard_normal((width, width)))[0]


def invertible(width: int, random: np.random.Generator) -> np.ndarray:
    """Stretches no direction 20 times as much as another."""
    return orthogonal(width, random) * np.geomspace(0.5, 10, width) @ orthogonal(width, random)


CHANGES = {
    "rotation": lambda x, random: x @ orthogonal(x.shape[1], random),
    "translation": lambda x, random: x + random.standard_normal(x.shape[1]) * 10,
    "scaling": lambda x, random: x * random.uniform(0.1, 10),
    "invertible linear": lambda x, random: x @ invertible(x.shape[1], random),
}
drawn = given(seed=st.integers(0, 10**6), samples=st.integers(8, 40), one=st.integers(4, 12), other=st.integers(4, 12))


@every_case
@settings(max_examples=20)
@drawn
def test_declared_invariances_hold(name: str, options: dict, seed: int, samples: int, one: int, other: int) -> None:
    x, y, random = layers(seed, samples, one, other)
    measure = index(name, options)
    found = value(measure, x, y)

    for change in measure.facts().invariant_to:
        assert value(measure, CHANGES[change](x, random), y) == pytest.approx(found, abs=1e-9)
        assert value(measure, x, CHANGES[change](y, random)) == pytest.approx(found, abs=1e-9)


@every_case
def test_an_invariance_that_is_not_declared_is_not_there(name: str, options: dict) -> None:
    x, y, random = layers(3, 40, 5, 6)
    measure = index(name, options)
    found = value(measure, x, y)

    for change in CHANGES.keys() - measure.facts().invariant_to:
        changed = value(measure, CHANGES[change](x, random), y), value(measure, x, CHANGES[change](y, random))
        assert max(abs(each - found) for each in changed) > 1e-3


@every_case
@settings(max_examples=20)
@drawn
def test_declared_symmetry_and_range_hold_and_a_layer_is_most_similar_to_itself(
    name: str, options: dict, seed: int, samples: int, one: int, other: int
) -> None:
    x, y, _ = layers(seed, samples, one, other)
    measure = index(name, options)
    facts, matrix = measure.facts(), measure.matrix([Held(x), Held(y)], MEMORY)

    if facts.symmetric:
        assert matrix[0, 1] == pytest.approx(matrix[1, 0], abs=1e-12)
    assert matrix.min() >= facts.range[0] - 1e-9
    assert matrix.max() <= facts.range[1] + 1e-9
    best = facts.range[1] if facts.larger_is_more_similar else facts.range[0]
    assert matrix.diagonal() == pytest.approx(best, abs=1e-6)  # of an arc cosine near 1, half the digits


@every_case
def test_a_symmetry_that_is_not_declared_is_not_there(name: str, options: dict) -> None:
    x, y, _ = layers(3, 40, 5, 9)
    measure = index(name, options)

    if not measure.facts().symmetric:
        assert abs(value(measure, x, y) - value(measure, y, x)) > 1e-3


@every_case
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), memory=st.integers(1, 10**6))
def test_the_memory_it_may_hold_moves_nothing(name: str, options: dict, seed: int, memory: int) -> None:
    block = np.random.default_rng(seed).standard_normal((9, 2, 3, 3)).astype(np.float32)
    held = [Held(block), Held(block[:, :1] ** 2), Held(block[:, 0, 0])]
    measure = index(name, options)

    assert measure.matrix(held, memory) == pytest.approx(measure.matrix(held, 10**9), abs=1e-7)


@given(
    numbers=st.lists(st.one_of(st.floats(0, 1), st.integers(0, 4096).map(lambda n: n / 4096)), min_size=1),
    memory=st.integers(1, 10**4),
)
def test_numbers_ranked_a_range_at_a_time_are_ranked_as_scipy_ranks_them(numbers: list[float], memory: int) -> None:
    found = np.array(numbers)

    rank(found, memory)

    assert np.array_equal(found, rankdata(numbers))


@every_case
def test_a_layer_that_is_the_same_for_all_samples_is_refused(name: str, options: dict) -> None:
    with pytest.raises(ValueError, match="layer 1 is the same for all samples"):
        value(index(name, options), np.random.default_rng(0).standard_normal((5, 3)), np.full((5, 2), 0.1))


def test_an_index_goes_by_the_name_of_its_file() -> None:
    for name, place in INDICES.items():
        module, _, cls = place.partition(":")
        assert module == f"pipeline.similarity.{name}"
        assert issubclass(getattr(import_module(module), cls), Index)


def test_every_index_has_options_to_be_tested_with() -> None:
    assert OPTIONS.keys() == INDICES.keys()
