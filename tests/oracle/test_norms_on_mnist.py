"""On real digits: what a recalibrated sender stands for, against a sender whose BatchNorms really go by the batch."""

import copy
from pathlib import Path

import numpy as np
import pandas
import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages import audit, compare, control, dataset, detect, extract, plan, report, stitch, train
from tests.running import forget

DEFAULT = YAML(typ="safe").load(Path(__file__).resolve().parents[2] / "params.yaml") | {"claims": []}
SEEDS = (0, 1, 2)
NAMES = ("digit", "colour")


def study(sender_bn: str, receiver_bn: str = "eval") -> Params:
    """Colour into Digit on correlated data, as the default study has it, with MNIST's own digits."""
    document = copy.deepcopy(DEFAULT)
    document["machine"]["slots"] = 1
    document["trials"] = {}
    source = {"kind": "mnist", "files": "official", "limit": {"train": 2000, "test": 1000}}
    for name in document["datasets"]:
        document["datasets"][name]["source"] = source
    document["datasets"] = {name: document["datasets"][name] for name in (*NAMES, "correlated")}
    document["models"] = {name: document["models"][name] for name in NAMES}
    document["recipes"]["sgd"] |= {"epochs": 3, "lr": 0.05}
    document["architectures"]["small"]["width"] = 8
    document["seeds"] = list(SEEDS)
    document["senders"], document["receivers"] = ["colour"], ["digit"]
    document["extract"]["cuts"] = ["layer2"]
    document["objectives"] = {"task": {"start": "random", "l1": 0.0, "offset": 0, "recipe": None}}
    document["controls"] = {}
    document["stitch"] |= {"sender_bn": sender_bn, "receiver_bn": receiver_bn, "epochs": 4, "lr": 0.01}
    return typed_params(document)


@pytest.fixture
def trained(data_root: Path, tmp_path: Path) -> Path:
    """Both networks of every seed; `data_root` is asked for so that the test skips without real data."""
    params = study("eval")
    forget()
    for name in params.datasets:
        dataset.run(params, name)
    for name in params.models:
        plan.run(params, name)
        for seed in SEEDS:
            train.run(params, name, seed)
    return tmp_path


def stitched(params: Params) -> np.ndarray:
    """Accuracies by seed."""
    forget()
    found = []
    for seed in SEEDS:
        for name in NAMES:
            extract.run(params, name, seed, "correlated")
        stitch.run(params, "colour", "digit", seed)
        rows = pandas.read_csv(paths.cells("colour", "digit", seed)).query("measure == 'accuracy'")
        found += rows["value"].tolist()
    return np.array(found)


@pytest.mark.usefixtures("trained")
def test_a_recalibrated_sender_is_as_good_as_one_by_batches_and_a_plain_one_need_not_be() -> None:
    recalibrated, batch = stitched(study("recalibrated")), stitched(study("batch"))

    spread = np.std(np.concatenate([recalibrated - recalibrated.mean(), batch - batch.mean()]), ddof=2)
    assert abs(recalibrated.mean() - batch.mean()) < 2 * spread + 0.005
    assert min(recalibrated.min(), batch.min()) > 0.5  # and neither by failing


@pytest.mark.usefixtures("trained")
def test_the_report_in_those_modes_shows_the_recalibrated_baseline_beside_the_plain_one() -> None:
    params = study("recalibrated", "batch")
    stitched(params)
    for seed in SEEDS:
        detect.run(params, "digit", seed)
        audit.run(params, "colour", "digit", seed)
        control.run(params, "digit", seed)
    for name in params.similarity:
        compare.run(params, name)

    report.run(params)

    cells = pandas.read_csv("reports/tables/cells.csv")
    held = pandas.read_csv("reports/tables/comparisons.csv")
    page = Path("reports/index.html").read_text()
    assert {"unstitched", "recalibrated"} <= set(cells.columns)
    assert not np.allclose(cells["unstitched"], cells["recalibrated"])
    assert {"unstitched", "recalibrated"} <= set(held["baseline"])
    assert "accuracy, receiver recalibrated" in page
    assert "points over receiver recalibrated" in page
