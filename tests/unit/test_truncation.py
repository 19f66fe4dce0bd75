"""Truncated layers, held against scikit-learn's PCA and against what their spectra say is lost."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from pipeline.arrays import Held
from pipeline.moments import own_moments
from pipeline.truncation import Truncated, Truncation, features, pooled

SHAPES = {"maps": (6, 3, 2), "tokens": (5, 6), "flat": (6,)}
BY_PLACE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "maps": lambda rows: np.moveaxis(rows, 1, -1).reshape(-1, 6),
    "tokens": lambda rows: rows.reshape(-1, 6),
    "flat": lambda rows: rows,
}
everywhere = pytest.mark.parametrize("kind", SHAPES)


def layer(kind: str, samples: int, seed: int = 0) -> np.ndarray:
    """Correlated, and far from zero."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((samples, *SHAPES[kind]))
    axis = 1 if kind == "maps" else -1
    mixing = random.standard_normal((6, 6)) * np.geomspace(5, 0.2, 6)
    return (np.moveaxis(np.moveaxis(rows, axis, -1) @ mixing.T, -1, axis) + 7).astype(np.float32)


@everywhere
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_a_truncation_is_what_scikit_learns_pca_gives_back(kind: str, rank: int) -> None:
    """Fitted to one split, asked of another; places are rows."""
    train, test = layer(kind, 40), layer(kind, 15, seed=1)
    pca = PCA(rank, svd_solver="full").fit(BY_PLACE[kind](train).astype(np.float64))
    wanted = pca.inverse_transform(pca.transform(BY_PLACE[kind](test).astype(np.float64)))
    found = Truncated(Held(test), own_moments(Held(train)), rank)

    assert BY_PLACE[kind](found.read(0, 15)) == pytest.approx(wanted, abs=1e-5)
    assert found.shape == test.shape
    assert np.array_equal(found.take(np.array([7, 2])), found.read(0, 15)[[7, 2]])


@everywhere
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6))
def test_what_is_lost_is_the_sum_of_the_variances_left_out(kind: str, seed: int, rank: int) -> None:
    rows = layer(kind, 20, seed)
    of = own_moments(Held(rows))

    lost = float(np.square(Truncated(Held(rows), of, rank).read(0, 20) - rows).sum())

    assert lost == pytest.approx(of.basis[0][rank:].sum(), rel=1e-6, abs=1e-6 * of.basis[0].sum())


@given(wanted=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_ranks_fall_from_the_width_and_each_is_there_once(wanted: list[int]) -> None:
    rows = Held(layer("flat", 9))
    ranks = Truncation(rows, rows, tuple(wanted)).ranks

    assert ranks == (6, *sorted({rank for rank in wanted if rank < 6}, reverse=True))


@everywhere
def test_a_layer_at_its_width_is_as_it_was_and_others_go_by_the_training_split(kind: str) -> None:
    train, test = Held(layer(kind, 30)), Held(layer(kind, 10, seed=1))
    whole, *lower = Truncation(train, test, (2, 4)).layers()

    assert whole is test
    assert [found.read(0, 10).tolist() for found in lower] == [
        Truncated(test, own_moments(train), rank).read(0, 10).tolist() for rank in (4, 2)
    ]


@everywhere
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_mean_over_truncated_places_is_the_truncated_mean(kind: str, split: str) -> None:
    train, test = Held(layer(kind, 30)), Held(layer(kind, 10, seed=1))
    truncation = Truncation(train, test, (4, 1))
    rows = {"train": train, "test": test}[split]
    seen = [rows, *(Truncated(rows, truncation.basis, rank) for rank in (4, 1))]

    for found, wanted in zip(truncation.pooled(split), map(pooled, seen), strict=True):
        assert found == pytest.approx(wanted, abs=1e-9)


def test_features_are_channels_of_maps_and_the_last_axis_of_others() -> None:
    assert [features((9, *shape)) for shape in ((4, 3, 2), (5, 7), (8,))] == [4, 7, 8]
