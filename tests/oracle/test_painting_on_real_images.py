"""Autoencoders of real images: encoders of Fashion-MNIST and CIFAR-10 stitched into a decoder of digits."""

import copy
from pathlib import Path

import numpy as np
import pandas
import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.params import Params, typed_params
from pipeline.stages import cells as stage_cells
from pipeline.stages import dataset, extract, plan, stitch, train

DEFAULT = YAML(typ="safe").load(Path(__file__).resolve().parents[2] / "params.yaml")
LIMIT = {"train": 2000, "test": 500}
HALF = [0.5, 0.5, 0.5]


def study(sender: str) -> Params:
    """Photographs are made as small and as grey as digits."""
    document = copy.deepcopy(DEFAULT)
    cifar = {"kind": "cifar10", "limit": LIMIT, "mean": HALF, "std": HALF}
    document["datasets"] = {
        "mnist": {"kind": "mnist", "files": "official", "limit": LIMIT},
        "fashion": {"kind": "fashion_mnist", "files": "official", "limit": LIMIT},
        "photographs": {"kind": "resized", "size": 28, "channels": 1, "source": cifar},
    }
    document["architectures"] = {"ae": {"kind": "autoencoder", "channels": [8, 16], "hidden": 128, "bottleneck": 64}}
    document["recipes"] = {"adam": {**document["recipes"]["sgd"], "optimiser": "adam", "lr": 0.002, "epochs": 5}}
    document["models"] = {
        name: {"architecture": "ae", "dataset": name, "recipe": "adam", "weights": "trained"}
        for name in ("mnist", sender)
    }
    document["seeds"], document["senders"], document["receivers"] = [0], [sender], ["mnist"]
    document["extract"] |= {"datasets": ["mnist", sender], "cuts": ["encoder"]}
    document["stitch"] |= {"data": sender, "towards": "mnist", "optimiser": "adam", "lr": 0.01, "epochs": 10}
    document["objectives"], document["controls"] = {"class_map": {}, "assignment": {}}, {}
    return typed_params(document)


@pytest.mark.usefixtures("data_root")
@pytest.mark.parametrize(("sender", "least"), [("fashion", 0.6), ("photographs", 0.2)])
def test_other_pictures_are_painted_as_the_digits_that_their_classes_are_mapped_to(sender: str, least: float) -> None:
    """And an embedding that is merely mapped onto that of digits is painted with the ink of digits."""
    params = study(sender)
    stage_cells.forget()
    for name in params.models:
        dataset.run(params, name)
        plan.run(params, name)
        train.run(params, name, 0)
        extract.run(params, name, 0, name)
    stitch.run(params, sender, "mnist", 0)

    found = pandas.read_csv(paths.cells(sender, "mnist", 0)).query("measure == 'accuracy'")
    accuracy = dict(zip(found["objective"], found["value"], strict=True))
    painted = np.load(paths.stitches(sender, "mnist", 0) / "assignment--encoder--encoder.npy")
    digits = np.load(paths.dataset("mnist") / "test" / "inputs.npy")
    assert accuracy["class_map"] > least  # 0.1 by chance
    assert painted.mean() == pytest.approx(digits.mean(), rel=0.35)
