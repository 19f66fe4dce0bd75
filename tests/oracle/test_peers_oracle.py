"""Numbers against packages that others compute them with: repsim, ckatorch and pytorch-ood."""

from types import ModuleType

import numpy as np
import pytest
import torch

from pipeline.detectors.tail_energy import TailEnergy
from pipeline.separation import auprc, auroc, fpr_at
from tests.oracle.conformance import Agreement
from tests.oracle.test_similarity_oracle import flat, related
from tests.property.test_similarity import Held, value
from tests.unit.test_detectors import energy_detector, flat_setting

oracle = pytest.mark.oracle
narrow = pytest.mark.parametrize("shape", [(7, 12), (12, 7), (9, 9)])
any_width = pytest.mark.parametrize("shape", [(7, 12), (9, 140), (140, 200)])


def peer(name: str) -> ModuleType:
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f"{package}, one of the dev requirements, is not installed")


@oracle("similarity.linear_cka", '`repsim.cka([X, Y], "linear", "gretton")`', 1e-12)
@any_width
def test_biased_cka_is_repsims(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)

    agree(value(flat("linear_cka", "biased"), x, y), peer("repsim").cka([x, y], "linear", "gretton")[0, 1])


@oracle("similarity.linear_cka", "`ckatorch.core.cka_base(X, Y)`", 1e-12)
@any_width
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_cka_is_ckatorchs(agree: Agreement, shape: tuple[int, int], estimator: str) -> None:
    x, y = related(*shape)
    wanted = peer("ckatorch.core").cka_base(*map(torch.from_numpy, (x, y)), unbiased=estimator == "unbiased")

    agree(value(flat("linear_cka", estimator), x, y), wanted)


@oracle("similarity.linear_cka", "`ckatorch.core.cka_batch(X[None], Y[None])`", 1e-12)
@any_width
def test_unbiased_cka_is_that_of_ckatorchs_batches(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)

    agree(
        value(flat("linear_cka", "unbiased"), x, y),
        peer("ckatorch.core").cka_batch(torch.from_numpy(x)[None], torch.from_numpy(y)[None]),
    )


@oracle("similarity.mean_cca", '`repsim.cca([X, Y], "pillai")`', 1e-12)
@narrow
def test_mean_cca_is_repsims(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)

    agree(value(flat("mean_cca"), x, y), peer("repsim").cca([x, y], "pillai")[0, 1])


@oracle("similarity.pwcca", "`repsim.pwcca([X, Y])`, of `raghu`", 1e-12)
@narrow
def test_pwcca_of_raghu_is_repsims(agree: Agreement, shape: tuple[int, int]) -> None:
    x, y = related(*shape)

    agree(value(flat("pwcca", "raghu"), x, y), peer("repsim").pwcca([x, y])[0, 1])


@oracle("detectors.tail_energy", "`pytorch_ood.detector.EnergyBased.score`", 1e-12, relative=True)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 10.0])
def test_an_energy_is_pytorch_oods(agree: Agreement, temperature: float) -> None:
    logits = np.random.default_rng(2).standard_normal((600, 10)).astype(np.float32) * 50
    wanted = peer("pytorch_ood.detector").EnergyBased.score(torch.from_numpy(logits).double(), temperature)

    found = TailEnergy(temperature).fit(flat_setting(logits, np.zeros(600, np.int64))).scores(Held(logits))

    agree(found, wanted)


@oracle("detectors.energy", "the loss: `pytorch_ood.loss.EnergyRegularizedLoss(0.1, -25, -7)`", 1e-12, relative=True)
def test_the_energy_loss_is_pytorch_oods(agree: Agreement) -> None:
    random = np.random.default_rng(3)
    logits, labels = (
        torch.from_numpy(random.standard_normal((90, 10)) * 10),
        torch.from_numpy(np.repeat([4, 0, -1], 30)),
    )
    wanted = peer("pytorch_ood.loss").EnergyRegularizedLoss(0.1, -25, -7)(logits, labels)

    agree(float(energy_detector().loss(logits, labels)), float(wanted))


@oracle("separation", "`pytorch_ood.metrics.OODMetrics`: AUROC, AUPR-OUT (`trapezoid`) and FPR95TPR", 1e-12)
@pytest.mark.parametrize("digits", [1, 9])
def test_measures_of_separation_are_pytorch_oods(agree: Agreement, digits: int) -> None:
    """With ties, of scores to one digit, and without."""
    random = np.random.default_rng(4)
    inside, outside = random.standard_normal(300).round(digits), (random.standard_normal(200) + 1).round(digits)
    metrics = peer("pytorch_ood.metrics").OODMetrics()
    metrics.update(
        torch.from_numpy(np.concatenate([inside, outside])), torch.from_numpy(np.repeat([0, -1], [300, 200]))
    )
    wanted = metrics.compute()

    agree(auroc(inside, outside), wanted["AUROC"])
    agree(auprc(inside, outside, "trapezoid"), wanted["AUPR-OUT"])
    agree(fpr_at(inside, outside, 0.95), wanted["FPR95TPR"])
