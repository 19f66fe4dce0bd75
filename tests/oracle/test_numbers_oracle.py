"""Numbers against independent answers."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel
from sklearn.preprocessing import KernelCenterer

from pipeline.errors import ResourceError
from pipeline.moments import moments
from pipeline.ranks.numerical import Numerical
from pipeline.similarity.linear_cka import LinearCKA
from pipeline.spectra import spectrum
from tests.property.test_similarity import Held

RANDOM = np.random.default_rng(7)


def least_squares(x: np.ndarray, y: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    found = moments(Held(x), [Held(y)])[0].affine(cutoff)
    return found.weight, found.bias


@pytest.mark.parametrize("widths", [(64, 96), (700, 3), (5, 900)])
def test_linear_cka_is_that_of_centred_kernels(widths: tuple[int, int]) -> None:
    """scikit-learn's kernels and centring; the feature-space formula of Kornblith et al. 2019, eq. 3."""
    x, y = (RANDOM.standard_normal((300, width)) + RANDOM.standard_normal(width) * 5 for width in widths)
    k, l = (KernelCenterer().fit_transform(linear_kernel(z)) for z in (x, y))  # noqa: E741
    by_kernels = (k * l).sum() / np.sqrt((k * k).sum() * (l * l).sum())
    x_c, y_c = x - x.mean(0), y - y.mean(0)
    by_features = np.linalg.norm(y_c.T @ x_c) ** 2 / (np.linalg.norm(x_c.T @ x_c) * np.linalg.norm(y_c.T @ y_c))

    found = LinearCKA("biased", "flattened").matrix([Held(x), Held(y)], 100_000)[0, 1]

    assert found == pytest.approx(by_kernels, abs=1e-12)
    assert found == pytest.approx(by_features, abs=1e-12)


def test_linear_cka_of_maps_is_that_of_flattened_ones() -> None:
    maps, flat = RANDOM.standard_normal((50, 3, 4, 4)), RANDOM.standard_normal((50, 7))

    assert LinearCKA("biased", "flattened").matrix([Held(maps), Held(flat)], 10**6)[0, 1] == pytest.approx(
        LinearCKA("biased", "flattened").matrix([Held(maps.reshape(50, -1)), Held(flat)], 10**6)[0, 1], abs=1e-14
    )


@pytest.mark.parametrize(("source", "target"), [((6, 3, 4), (5, 3, 4)), ((9, 6), (9, 4)), ((6,), (8,))])
def test_direct_matching_is_numpys_least_squares(source: tuple, target: tuple) -> None:
    """`numpy.linalg.lstsq` with a column of ones, places as rows."""
    x, y = RANDOM.standard_normal((40, *source)) + 3, RANDOM.standard_normal((40, *target))

    weight, bias = least_squares(x, y, 1e-9)

    rows_x, rows_y = (
        z.transpose(0, 2, 3, 1).reshape(-1, z.shape[1]) if z.ndim == 4 else z.reshape(-1, z.shape[-1]) for z in (x, y)
    )
    wanted = np.linalg.lstsq(np.column_stack([rows_x, np.ones(len(rows_x))]), rows_y)[0]
    assert weight == pytest.approx(wanted[:-1].T, abs=1e-10)
    assert bias == pytest.approx(wanted[-1], abs=1e-10)


def test_direct_matching_into_itself_is_the_identity() -> None:
    x = RANDOM.standard_normal((200, 6, 2, 2)).astype(np.float32)

    weight, bias = least_squares(x, x, 1e-6)

    assert weight == pytest.approx(np.eye(6), abs=1e-10)
    assert bias == pytest.approx(np.zeros(6), abs=1e-10)


def test_direct_matching_on_a_rank_deficient_source_has_the_least_norm() -> None:
    x = RANDOM.standard_normal((100, 3)) @ RANDOM.standard_normal((3, 8))
    y = x @ RANDOM.standard_normal((8, 2))
    centred_x, centred_y = x - x.mean(0), y - y.mean(0)

    weight, _ = least_squares(x, y, 1e-6)

    assert weight == pytest.approx((np.linalg.pinv(centred_x, rcond=1e-6) @ centred_y).T, abs=1e-9)


def test_direct_matching_streams_to_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RANDOM.standard_normal((57, 4, 3, 3)), RANDOM.standard_normal((57, 5, 3, 3))
    whole = least_squares(x, y, 1e-6)
    monkeypatch.setattr("pipeline.moments.BLOCK_BYTES", 1)

    by_rows = least_squares(x, y, 1e-6)

    assert by_rows[0] == pytest.approx(whole[0], abs=1e-12)
    assert by_rows[1] == pytest.approx(whole[1], abs=1e-12)


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("shape", [(50, 6), (20, 3, 4, 4), (30, 30)])
def test_a_spectrum_is_that_of_numpys_covariance(shape: tuple[int, ...], tight: bool) -> None:
    """Also where no more memory is given than its matrix takes."""
    rows = RANDOM.standard_normal(shape)
    wanted = np.linalg.eigvalsh(np.cov(rows.reshape(len(rows), -1), rowvar=False))[::-1]

    found = spectrum(Held(rows), 24 * min(len(rows), rows[0].size) ** 2 if tight else 10**9)

    size = min(len(found), len(wanted))
    assert found[:size] == pytest.approx(wanted[:size], abs=1e-10)
    assert wanted[size:] == pytest.approx(0, abs=1e-10)


def test_a_spectrum_that_memory_has_no_room_for_is_refused() -> None:
    wanted = r"ranks: 40 features of 30 samples need 2.16e-05 GB of 1e-05 for their spectrum; machine\.memory_gb should"

    with pytest.raises(ResourceError, match=wanted):
        spectrum(Held(np.ones((30, 40))), 10**4)


@pytest.mark.parametrize("rank", [1, 5, 12])
def test_the_numerical_rank_of_a_known_rank_is_that_rank(rank: int) -> None:
    rows = RANDOM.standard_normal((200, rank)) @ np.linalg.qr(RANDOM.standard_normal((40, rank)))[0].T

    assert Numerical(1e-3)(spectrum(Held(rows + 7), 10**9)) == rank


def test_the_numerical_rank_counts_variances_and_not_deviations() -> None:
    """Smith et al. 2025 put the threshold on eigenvalues of the covariance."""
    assert Numerical(1e-3)(np.array([1.0, 0.01, 0.0011, 0.0009])) == 3.0


def test_nothing_varying_has_no_rank() -> None:
    assert Numerical(1e-3)(spectrum(Held(np.ones((5, 3))), 10**9)) == 0.0


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_moments_are_numpys_covariances(far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the mean, and in blocks whose first is not like the rest."""
    x, y = RANDOM.standard_normal((90, 3, 2, 2)) + far, RANDOM.standard_normal((90, 2, 2, 2)) - far
    x[:2] += 5
    monkeypatch.setattr("pipeline.moments.BLOCK_BYTES", 8 * 20 * 2)

    found = moments(Held(x), [Held(y), Held(x)])

    flat_x, flat_y = (z.transpose(0, 2, 3, 1).reshape(360, -1) for z in (x, y))
    wanted = np.cov(np.hstack([flat_x, flat_y]).T, bias=True) * 360
    assert found[0].source.products == pytest.approx(wanted[:3, :3], rel=1e-9)
    assert found[0].cross == pytest.approx(wanted[:3, 3:], abs=1e-6)
    assert found[1].cross == pytest.approx(wanted[:3, :3], rel=1e-9)
    assert found[0].mean == pytest.approx(flat_y.mean(0), rel=1e-12)
