"""The energy detector of Balogh and Jelasity (2025) on real digits, at a cut of a ResNet and of a transformer."""

import copy
from pathlib import Path

import pandas
import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.separation import auroc
from pipeline.stages import cells as stage_cells
from pipeline.stages import dataset, detect, extract, plan, train
from pipeline.stages.detecting import Watch
from tests.running import forget

DEFAULT = YAML(typ="safe").load(Path(__file__).resolve().parents[2] / "params.yaml") | {"claims": []}
CUTS = {"resnet": "layer2", "transformer": "blocks.1"}
DIGITS = {"kind": "mnist", "files": "official", "limit": {"train": 4000, "test": 1000}}
SCALE = {"mean": [0.1307], "std": [0.3081]}
# The paper's margins, weight and temperature; networks and recipes that a minute has room for.
ENERGY = {
    "pretraining": "learns", "finetuning": "parts", "margin_inside": -25, "margin_outside": -7, "weight": 0.1,
    "temperature": 1, "maps": {"size": 14, "blocks": [1, 1], "width": 8}, "tokens": {"depth": 2, "heads": 3},
    "flat": {"depth": 1, "width": 32},
}  # fmt: skip


def study() -> Params:
    """Digits, whose detectors learn from digits in pieces, and clothes and noise that they never see."""
    document = copy.deepcopy(DEFAULT)
    document["machine"] |= {"slots": 1, "device": "cpu"}
    document["datasets"] = {
        "digits": DIGITS,
        "pieces": {"kind": "scrambled", "source": DIGITS, "patch": 4},
        "clothes": {"kind": "fashion_mnist", "files": "own", "limit": {"train": 100, "test": 1000}},
        "static": {"kind": "noise", "pattern": "blobs", "categories": 1, "train": 8, "test": 500, "channels": 1}
        | {"size": 28, **SCALE},
    }
    document["architectures"] = {
        "resnet": {"kind": "small_resnet", "blocks": [1, 1, 1], "width": 8, "stem": "cifar"},
        "transformer": {"kind": "vit_tiny", "patch": 7, "depth": 3, "heads": 3, "dim": 48},
    }
    recipe = document["recipes"]["sgd"] | {"augment": []}
    adam = {**recipe, "optimiser": "adam", "lr": 3e-3, "weight_decay": 1e-5, "schedule": "constant", "warmup_epochs": 0}
    document["recipes"] = {
        "resnet": {**recipe, "epochs": 1}, "transformer": {**adam, "epochs": 3},
        "learns": {**adam, "lr": 1e-3, "epochs": 4}, "parts": {**adam, "lr": 1e-3, "epochs": 6},
    }  # fmt: skip
    document["models"] = {
        name: {"architecture": name, "dataset": "digits", "recipe": name, "weights": "trained"} for name in CUTS
    }
    document["extract"] |= {"datasets": list(document["datasets"]), "cuts": list(CUTS.values())}
    document["senders"] = document["receivers"] = list(CUTS)
    document["stitch"] |= {"data": "digits", "towards": "digits"}
    document["controls"], document["seeds"], document["figures"] = {}, [0], {}
    document["detectors"] = {"energy": ENERGY}
    document["detection"]["auxiliary"] = "pieces"
    return typed_params(document)


@pytest.fixture(params=CUTS)
def fitted(request: pytest.FixtureRequest, data_root: Path) -> tuple[Params, str]:
    """A network that has learnt digits, its activations of all data, and its detector; skips without real data."""
    for name in ("MNIST", "FashionMNIST"):
        if not (data_root / name).is_dir():
            pytest.skip(f"BACKSTITCH_DATA_ROOT holds no {name}")
    params, name = study(), request.param
    forget()
    for data in params.datasets:
        dataset.run(params, data)
    plan.run(params, name)
    train.run(params, name, 0)
    for data in params.datasets:
        extract.run(params, name, 0, data)
    detect.run(params, name, 0)
    return params, name


def test_real_activations_are_told_from_others_and_held_out_ones_are_not(fitted: tuple[Params, str]) -> None:
    """Pieces of digits are what fine-tuning has seen others of; clothes and blobs are of kinds that it has not seen."""
    params, name = fitted
    trust = pandas.read_csv(paths.detectors(name, 0) / "trust.csv").set_index("measure")["value"].to_dict()
    watch = Watch(params, name, 0, paths.detectors(name, 0))
    judge, (cut,) = watch.fitted(CUTS[name], "energy"), watch.own.cuts
    inside = judge.scores(watch.inside(cut))
    unseen = {
        data: auroc(inside, judge.scores(stage_cells.own_activations(name, 0, data, "eval").rows("test", cut)))
        for data in ("clothes", "static")
    }

    assert trust["held_out"] == pytest.approx(0.5, abs=0.08)
    assert trust["auxiliary"] > 0.95
    assert min(unseen.values()) > 0.7
