"""Every similarity index is what it declares itself to be."""

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pipeline.registry import build
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index

OPTIONS: dict[str, dict] = {name: {} for name in INDICES}
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


def index(name: str) -> Index:
    return build(name, INDICES, name, OPTIONS[name])


def value(name: str, one: np.ndarray, other: np.ndarray) -> float:
    return float(index(name).matrix([Held(one), Held(other)], MEMORY)[0, 1])


def layers(seed: int, samples: int, one: int, other: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(seed)
    shared = random.standard_normal((samples, 2))
    x, y = (shared @ random.standard_normal((2, d)) + random.standard_normal((samples, d)) for d in (one, other))
    return x, y, random


CHANGES = {
    "rotation": lambda x, random: x @ np.linalg.qr(random.standard_normal((x.shape[1], x.shape[1])))[0],
    "translation": lambda x, random: x + random.standard_normal(x.shape[1]) * 10,
    "scaling": lambda x, random: x * random.uniform(0.1, 10),
}
drawn = given(seed=st.integers(0, 10**6), samples=st.integers(4, 40), one=st.integers(1, 12), other=st.integers(1, 12))


@pytest.mark.parametrize("name", INDICES)
@settings(max_examples=40)
@drawn
def test_declared_invariances_hold(name: str, seed: int, samples: int, one: int, other: int) -> None:
    x, y, random = layers(seed, samples, one, other)

    for change in index(name).invariant_to:
        assert value(name, CHANGES[change](x, random), y) == pytest.approx(value(name, x, y), abs=1e-9)


@pytest.mark.parametrize("name", INDICES)
@settings(max_examples=40)
@drawn
def test_declared_symmetry_holds_and_a_layer_is_most_similar_to_itself(
    name: str, seed: int, samples: int, one: int, other: int
) -> None:
    x, y, _ = layers(seed, samples, one, other)
    matrix = index(name).matrix([Held(x), Held(y)], MEMORY)

    if index(name).symmetric:
        assert matrix[0, 1] == pytest.approx(matrix[1, 0], abs=1e-12)
    sign = 1 if index(name).larger_is_more_similar else -1
    assert sign * matrix[0, 0] >= sign * matrix[0, 1] - 1e-9


@pytest.mark.parametrize("name", INDICES)
@settings(max_examples=20)
@given(block=arrays(np.float32, (9, 2, 3, 3), elements=st.floats(-9, 9, width=32)), memory=st.integers(1, 10**6))
def test_the_memory_it_may_hold_moves_nothing(name: str, block: np.ndarray, memory: int) -> None:
    block = block + np.random.default_rng(0).standard_normal(block.shape).astype(np.float32)
    held = [Held(block), Held(block[:, :1])]

    assert index(name).matrix(held, memory) == pytest.approx(index(name).matrix(held, 10**9), abs=1e-12)


@pytest.mark.parametrize("name", INDICES)
def test_a_layer_that_is_the_same_for_all_samples_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="layer 1 is the same for all samples"):
        value(name, np.random.default_rng(0).standard_normal((5, 3)), np.ones((5, 2)))


def test_an_index_goes_by_the_name_of_its_file() -> None:
    for name, place in INDICES.items():
        module, _, cls = place.partition(":")
        assert module == f"pipeline.similarity.{name}"
        assert issubclass(getattr(import_module(module), cls), Index)
