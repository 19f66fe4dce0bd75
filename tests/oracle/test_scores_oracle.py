"""Ranks, detectors and measures of separation against independent routes: SciPy, scikit-learn, NumPy."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import entropy
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors

from pipeline.detectors.mahalanobis import Mahalanobis
from pipeline.detectors.nearest import Nearest
from pipeline.detectors.tail_energy import TailEnergy
from pipeline.ranks.effective import Effective
from pipeline.ranks.numerical import Numerical
from pipeline.ranks.participation import Participation
from pipeline.separation import auprc, auroc, fpr_at
from pipeline.spectra import spectrum
from tests.oracle.conformance import Agreement
from tests.property.test_similarity import Held
from tests.unit.test_detectors import by_the_book, energy_detector, flat_setting, mixture

oracle = pytest.mark.oracle
shapes = pytest.mark.parametrize("shape", [(200, 12), (40, 40), (30, 90)])


def rows_of(shape: tuple[int, int]) -> np.ndarray:
    """Deviations fall by a factor of ten thousand, so that some are below any threshold."""
    return np.random.default_rng(8).standard_normal(shape) * np.geomspace(1, 1e-4, shape[1]) + 3


def singular(rows: np.ndarray) -> np.ndarray:
    return np.linalg.svd(rows - rows.mean(0), compute_uv=False)


@oracle("ranks.numerical", "`numpy.linalg.matrix_rank` of centred activations, its `rtol` the threshold's root", 0.0)
@shapes
@pytest.mark.parametrize("threshold", [1e-2, 1e-3])
def test_the_numerical_rank_is_numpys(agree: Agreement, shape: tuple[int, int], threshold: float) -> None:
    rows = rows_of(shape)

    agree(
        Numerical(threshold)(spectrum(Held(rows), 10**9)),
        np.linalg.matrix_rank(rows - rows.mean(0), rtol=np.sqrt(threshold)),
    )


@oracle("ranks.effective", "`variances`: exp of `scipy.stats.entropy` of the squares of NumPy's singular values", 1e-9)
@shapes
def test_the_effective_rank_is_that_of_singular_values(agree: Agreement, shape: tuple[int, int]) -> None:
    rows = rows_of(shape)

    agree(Effective("variances")(spectrum(Held(rows), 10**9)), np.exp(entropy(singular(rows) ** 2)))


@oracle("ranks.effective", "`deviations`: the same of singular values, which squaring leaves half their digits", 1e-6)
@shapes
def test_the_effective_rank_of_deviations_is_that_of_singular_values(agree: Agreement, shape: tuple[int, int]) -> None:
    rows = rows_of(shape)

    agree(Effective("deviations")(spectrum(Held(rows), 10**9)), np.exp(entropy(singular(rows))))


@oracle("ranks.participation", "tr(C)² / tr(C²) of `numpy.cov`, which needs no eigenvalue", 1e-12)
@shapes
def test_the_participation_ratio_is_that_of_traces(agree: Agreement, shape: tuple[int, int]) -> None:
    rows = rows_of(shape)
    covariance = np.cov(rows, rowvar=False)

    agree(Participation()(spectrum(Held(rows), 10**9)), np.trace(covariance) ** 2 / np.sum(covariance**2))


@oracle(
    "detectors.mahalanobis",
    "`scipy.spatial.distance.mahalanobis` with NumPy's `pinv`, also with fewer samples than features",
    1e-7,
    relative=True,
)
@pytest.mark.parametrize("shrinkage", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("samples", "features"), [(200, 6), (40, 39), (30, 30), (20, 50), (4, 9)])
def test_mahalanobis_is_scipys_with_the_inverse_or_what_there_is_of_one(
    agree: Agreement, samples: int, features: int, shrinkage: float
) -> None:
    """Also with fewer samples than features, where it works in the space that they span."""
    rows, labels, asked = mixture(samples, features)
    found = Mahalanobis("flattened", shrinkage, 1e-9).fit(flat_setting(rows, labels))

    agree(found.scores(Held(asked)), by_the_book(rows, labels, asked, shrinkage))


@oracle("detectors.nearest", 'scikit-learn\'s `NearestNeighbors(algorithm="kd_tree")`', 1e-11)
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("far", [0, 1000])
def test_nearest_is_scikit_learns(agree: Agreement, k: int, far: int) -> None:
    """Far from zero too."""
    random = np.random.default_rng(9)
    rows, asked = (random.standard_normal((count, 4)) + far for count in (300, 50))
    wanted = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(rows).kneighbors(asked)[0][:, -1]

    agree(Nearest("flattened", k, False).fit(flat_setting(rows, np.zeros(300, np.int64))).scores(Held(asked)), wanted)


@oracle("detectors.tail_energy", "-T times SciPy's `logsumexp` (Liu et al. 2020, eq. 4)", 1e-12, relative=True)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 10.0])
def test_an_energy_is_minus_t_times_logsumexp(agree: Agreement, temperature: float) -> None:
    logits = np.random.default_rng(0).standard_normal((1100, 10)).astype(np.float32) * 50
    wanted = -temperature * np.asarray(logsumexp(logits.astype(np.float64) / temperature, axis=1))

    agree(TailEnergy(temperature).fit(flat_setting(logits, np.zeros(1100, np.int64))).scores(Held(logits)), wanted)


@oracle("detectors.energy", "the loss: cross-entropy and both margins written out in NumPy", 1e-12, relative=True)
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_energy_loss_is_the_papers(agree: Agreement, temperature: float) -> None:
    """Cross-entropy + 0.1 · (mean of relu(E_in + 25)² + mean of relu(-7 - E_out)²)."""
    random = np.random.default_rng(1)
    logits, labels = random.standard_normal((30, 5)) * 10, np.repeat([0, 3, -1], 10)
    energies = -temperature * np.asarray(logsumexp(logits / temperature, axis=1))
    named = logits[:20][np.arange(20), labels[:20]]
    surprise = np.mean(np.asarray(logsumexp(logits[:20], axis=1)) - named)
    margins = np.mean(np.clip(energies[:20] + 25, 0, None) ** 2) + np.mean(np.clip(-7 - energies[20:], 0, None) ** 2)

    found = energy_detector(temperature=temperature).loss(torch.from_numpy(logits), torch.from_numpy(labels))

    agree(float(found), surprise + 0.1 * margins)


@oracle(
    "separation",
    "scikit-learn's `roc_auc_score`, `average_precision_score`, `auc` of its curve, and `roc_curve` at 95 %",
    1e-12,
)
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_measures_of_separation_are_scikit_learns(agree: Agreement, digits: int) -> None:
    """With many ties, some, and none."""
    random = np.random.default_rng(10)
    inside, outside = random.standard_normal(300).round(digits), (random.standard_normal(200) + 1).round(digits)
    truth = np.repeat([0, 1], [300, 200]), np.concatenate([inside, outside])
    precision, recall, _ = precision_recall_curve(*truth)
    false, true, _ = roc_curve(*truth, drop_intermediate=False)

    agree(auroc(inside, outside), roc_auc_score(*truth))
    agree(auprc(inside, outside, "average"), average_precision_score(*truth))
    agree(auprc(inside, outside, "trapezoid"), auc(recall, precision))
    agree(fpr_at(inside, outside, 0.95), false[np.argmax(true >= 0.95)])
