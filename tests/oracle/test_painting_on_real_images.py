"""Autoencoders of real images: encoders of Fashion-MNIST and CIFAR-10 stitched into a decoder of digits."""

import copy
from pathlib import Path

import numpy as np
import pandas
import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.arrays import PAINTED
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages import dataset, extract, plan, stitch, train
from tests.running import forget

DEFAULT = YAML(typ="safe").load(Path(__file__).resolve().parents[2] / "params.yaml") | {"claims": []}
LIMIT = {"train": 2000, "test": 500}


def study(sender: str) -> Params:
    """Photographs are made as small and as grey as digits."""
    document = copy.deepcopy(DEFAULT)
    document["machine"]["slots"] = 1
    document["trials"] = {}
    cifar = {"kind": "cifar10", "limit": LIMIT, "mean": 3 * [0], "std": 3 * [1]}
    images = {
        "mnist": {"kind": "mnist", "files": "official", "limit": LIMIT},
        "fashion": {"kind": "fashion_mnist", "files": "own", "limit": LIMIT},
        "photographs": {"kind": "resized", "size": 28, "channels": 1, "source": cifar},
    }
    document["datasets"] = {
        name: {"kind": "renormalised", "mean": [0], "std": [1], "source": source} for name, source in images.items()
    }
    sizes = {"channels": [8, 16], "hidden": 128, "bottleneck": 64, "widths": []}
    document["architectures"] = {"ae": {"kind": "autoencoder", **sizes}}
    recipe = {"optimiser": "adam", "lr": 0.002, "weight_decay": 0, "epochs": 8, "batch": 32}
    document["recipes"] = {"adam": document["recipes"]["sgd"] | recipe}
    document["models"] = {
        name: {"architecture": "ae", "dataset": name, "recipe": "adam", "weights": "trained"}
        for name in ("mnist", sender)
    }
    document["seeds"], document["senders"], document["receivers"] = [0], [sender], ["mnist"]
    document["extract"] |= {"datasets": ["mnist", sender], "cuts": ["encoder"]}
    document["stitch"] |= {"data": sender, "towards": "mnist", "optimiser": "adam", "lr": 0.01, "epochs": 10}
    document["objectives"], document["controls"] = {"class_map": {"recipe": None}, "assignment": {"recipe": None}}, {}
    return typed_params(document)


def painted(sender: str) -> dict[str, np.ndarray]:
    """By objective, what the decoder of digits makes of the sender's first test images."""
    params = study(sender)
    forget()
    for name in params.models:
        dataset.run(params, name)
        plan.run(params, name)
        train.run(params, name, 0)
        extract.run(params, name, 0, name)
    stitch.run(params, sender, "mnist", 0)
    return {path.stem.split("--")[0]: np.load(path) for path in paths.stitches(sender, "mnist", 0).glob("*.npy")}


@pytest.mark.usefixtures("data_root")
def test_clothes_are_painted_as_the_digits_that_their_classes_are_mapped_to() -> None:
    """The judge, which learnt from real digits, knows them; what is mapped without labels is told apart by nothing."""
    pictures = painted("fashion")
    rows = pandas.read_csv(paths.cells("fashion", "mnist", 0)).query("measure == 'accuracy'")
    accuracy = dict(zip(rows["objective"], rows["value"], strict=True))

    assert accuracy["class_map"] > 0.3  # 0.1 by chance
    assert accuracy["assignment"] < 0.3
    assert all(picture.shape == (PAINTED, 1, 28, 28) for picture in pictures.values())


@pytest.mark.usefixtures("data_root")
@pytest.mark.parametrize("sender", ["fashion", "photographs"])
def test_whatever_is_mapped_into_the_space_of_digits_is_painted_with_the_ink_of_digits(sender: str) -> None:
    pictures = painted(sender)
    ink = np.load(paths.dataset("mnist") / "test" / "inputs.npy").mean()
    own = np.load(paths.dataset(sender) / "test" / "inputs.npy").mean()

    assert own > 1.5 * ink
    for picture in pictures.values():
        assert picture.mean() == pytest.approx(ink, rel=0.4)
