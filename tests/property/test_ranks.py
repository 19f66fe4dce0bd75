"""Ranks: what they are of spectra whose rank is known, and what they have in common."""

from importlib import import_module
from math import e, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.arrays import Held
from pipeline.ranks import RANKS
from pipeline.ranks.base import Rank
from pipeline.registry import build
from pipeline.spectra import spectrum

OPTIONS: list[tuple[str, dict]] = [
    ("effective", {"of": "variances"}),
    ("effective", {"of": "deviations"}),
    ("numerical", {"threshold": 1e-3}),
    ("participation", {}),
]
every = pytest.mark.parametrize(("name", "options"), OPTIONS)
spectra = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30).map(lambda values: np.sort(values)[::-1])


def rank(name: str, options: dict) -> Rank:
    return build(f"ranks.{name}", RANKS, name, options)


def test_every_rank_is_tested_and_goes_by_the_name_of_its_file() -> None:
    assert {name for name, _ in OPTIONS} == set(RANKS)
    for name, place in RANKS.items():
        module, _, cls = place.partition(":")
        assert module == f"pipeline.ranks.{name}"
        assert issubclass(getattr(import_module(module), cls), Rank)


@every
@given(values=spectra, factor=st.floats(1e-150, 1e150))
def test_scale_changes_no_rank(name: str, options: dict, values: np.ndarray, factor: float) -> None:
    # Not where rounding decides which side of the threshold a value is on.
    values = values[np.abs(values / (1e-3 * values.max()) - 1) > 1e-9]

    assert rank(name, options)(values * factor) == pytest.approx(rank(name, options)(values), rel=1e-9)


@every
@given(values=spectra, zeros=st.integers(0, 5))
def test_a_rank_is_between_one_and_the_number_of_directions_that_vary(
    name: str, options: dict, values: np.ndarray, zeros: int
) -> None:
    found = rank(name, options)(np.append(values, np.zeros(zeros)))

    assert 1 - 1e-12 <= found <= len(values) * (1 + 1e-12)
    assert found == pytest.approx(rank(name, options)(values), rel=1e-12)


@every
@given(count=st.integers(1, 40), value=st.floats(1e-300, 1e300), zeros=st.integers(0, 5))
def test_equal_directions_count_one_each(name: str, options: dict, count: int, value: float, zeros: int) -> None:
    assert rank(name, options)(np.append(np.full(count, value), np.zeros(zeros))) == pytest.approx(count, rel=1e-12)


@given(values=spectra)
def test_the_smooth_ranks_come_in_order(values: np.ndarray) -> None:
    """Rényi's entropies fall with their order: of order 1, the effective rank; of order 2, the participation ratio."""
    variances, deviations, participation = (
        rank(name, options)(values) for name, options in OPTIONS if name != "numerical"
    )

    assert participation <= variances * (1 + 1e-12)
    assert variances <= deviations * (1 + 1e-12)


def test_they_are_what_their_papers_say_of_a_spectrum_done_by_hand() -> None:
    """Shares 1/2, 1/4, 1/4 have the entropy 3/2 ln 2; their squares sum to 3/8."""
    values = np.array([2.0, 1.0, 1.0])

    assert rank("effective", {"of": "variances"})(values) == pytest.approx(2**1.5, rel=1e-14)
    assert rank("effective", {"of": "deviations"})(values**2) == pytest.approx(2**1.5, rel=1e-14)
    assert rank("participation", {})(values) == pytest.approx(8 / 3, rel=1e-14)


def test_the_effective_rank_of_a_geometric_spectrum_is_its_closed_form() -> None:
    """Shares (1 - q) q^k have the entropy -ln(1 - q) - q / (1 - q) ln q."""
    q = 0.5
    values = q ** np.arange(200.0)

    wanted = e ** (-log(1 - q) - q / (1 - q) * log(q))
    assert rank("effective", {"of": "variances"})(values) == pytest.approx(wanted, rel=1e-12)
    assert rank("participation", {})(values) == pytest.approx((1 + q) / (1 - q), rel=1e-12)


def test_deviations_are_the_singular_values_of_the_centred_activations() -> None:
    """The effective rank of a matrix as Roy and Vetterli define it, by NumPy's singular values."""
    rows = np.random.default_rng(3).standard_normal((40, 7)) * np.arange(1, 8)
    singular = np.linalg.svd(rows - rows.mean(0), compute_uv=False)
    shares = singular / singular.sum()

    found = rank("effective", {"of": "deviations"})(spectrum(Held(rows), 10**9))

    assert found == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-10)


@every
def test_nothing_varying_has_no_rank(name: str, options: dict) -> None:
    assert rank(name, options)(np.zeros(4)) == 0.0
