"""One study of each paper, cut down to a minute, on real images and through every stage: does its main claim show?

Each starts from a laptop study and says what it changes: fewer images, networks, cuts, controls and detectors, smaller
networks, and what lets those learn something in a minute. What is asked is the direction alone.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from pandas import DataFrame
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.figures.tables import series, where
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages import audit, compare, control, dataset, detect, extract, plan, report, stitch, train, trial
from pipeline.stages.check import check
from tests.running import forget

TOP = Path(__file__).resolve().parents[2]

Document = dict[str, Any]


def whole(name: str, change: Callable[[Document], None]) -> dict[str, DataFrame]:
    """The tables of the study `name` with its params changed, every stage run in this process."""
    document = YAML(typ="safe").load(TOP / "studies" / name / "params.yaml")
    document |= {"root": str(TOP), "seeds": [0]}
    document["machine"] |= {"device": "cpu", "slots": 1, "memory_gb": 4}
    change(document)
    params = typed_params(document)
    forget()
    assert check(params) == []
    for stage, arguments in plan_of(params):
        stage.run(params, *arguments)
    forget()
    return {path.stem: pandas.read_csv(path) for path in (paths.REPORTS / "tables").glob("*.csv")}


def plan_of(params: Params) -> list[tuple[Any, tuple[Any, ...]]]:
    """Every stage with what it is of, as dvc.yaml has them."""
    networks = list(product(params.models, params.seeds))
    receivers = list(product(params.receivers, params.seeds))
    pairs = list(product(params.senders, params.receivers, params.seeds))
    return [
        *((dataset, (name,)) for name in params.datasets),
        *((plan, (name,)) for name in params.models),
        *((train, network) for network in networks),
        *((extract, (*network, data)) for network in networks for data in params.extract.datasets),
        *((detect, receiver) for receiver in receivers),
        *((stitch, pair) for pair in pairs),
        *((control, receiver) for receiver in receivers),
        *((audit, pair) for pair in pairs),
        *((compare, (index,)) for index in params.similarity),
        (trial, ()),
        (report, ()),
    ]


def column(rows: DataFrame, name: str) -> np.ndarray:
    return series(rows, name).to_numpy(np.float64)


def limit(document: Document, train: int, test: int) -> None:
    """Of every dataset that has one, be it of what it is made of."""
    for entry in document["datasets"].values():
        while "source" in entry:
            entry = entry["source"]
        if "limit" in entry:
            entry["limit"] = {"train": train, "test": test}


@pytest.mark.usefixtures("data_root")
def test_colours_and_noise_stitch_into_digits_as_smith_et_al_find() -> None:
    """Colour-Only never saw a digit, and noise is no image: yet either is as good as Digit itself, or better."""

    def change(document: Document) -> None:
        limit(document, 3000, 1000)
        document["models"] = {name: document["models"][name] for name in ("digit", "colour_only")}
        document["senders"] = ["colour_only"]
        document["extract"]["cuts"] = ["layer2", "layer3"]
        document["controls"] = {name: document["controls"][name] for name in ("noise", "probe")}
        document["trials"], document["claims"] = {}, []
        document["stitch"]["lr"] = 0.01  # of so few images, the paper's rate would take a hundred epochs

    cells = whole("smith2025-senders-laptop", change)["cells"]

    assert len(cells) == 2
    assert (column(cells, "difference") > 0).all()
    assert (column(cells, "noise") > column(cells, "unstitched")).all()


@pytest.mark.usefixtures("data_root")
def test_accuracy_after_stitching_does_not_tell_layers_apart_as_balogh_and_jelasity_find() -> None:
    """A layer is most similar to itself by CKA and direct matching, and not always by what task-loss matching reaches.

    What that makes is out of distribution, and what direct matching makes is less so: by Mahalanobis distance, for the
    paper's own detector learns next to nothing from so few images, in the laptop studies as well. Which layer another
    network's is identified with needs better networks than these.
    """

    def change(document: Document) -> None:
        limit(document, 1000, 500)
        document["recipes"]["balogh2025"]["epochs"] = 8
        document["architectures"]["net"] |= {"dim": 48, "depth": 3}
        document["models"] = {name: document["models"][name] for name in ("a", "b")}
        document["senders"] = document["receivers"] = ["a", "b"]
        document["controls"], document["claims"] = {}, []
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}
        document["trials"] = {"layer_identification": document["trials"]["layer_identification"]}
        document["similarity"] = {"linear_cka": document["similarity"]["linear_cka"]}
        document["comparison"] = {"permutations": 0, "groups": 0}
        document["figures"] = {"layer_grid": {"width": 7, "measure": "auroc_mahalanobis"}}

    tables = whole("balogh2025-vit-laptop", change)
    trials = tables["trials"]
    task, direct = (column(where(tables["cells"], objective=name), "auroc_mahalanobis") for name in ("task", "direct"))
    found = where(trials, part="within", of="all", measure="value")

    for index in ("linear_cka", "residual_direct"):
        assert column(where(found, index=index), "value") == [1]
    assert column(where(found, index="accuracy_task"), "value") < [1]
    assert task.mean() > 0.75
    assert direct.mean() < task.mean()


@pytest.mark.usefixtures("data_root")
def test_what_the_task_teaches_is_far_from_what_is_expected_as_hernandez_et_al_find() -> None:
    """Later layers can be stitched into earlier ones, and earlier ones into later ones less well.

    And matching, where nothing pulls its weights down, gives the receiver back, as the paper did not find.
    """

    def change(document: Document) -> None:
        limit(document, 3000, 1000)
        document["recipes"]["hernandez2022"]["lr"] = 0.05  # of so few images, the study's own teaches next to nothing
        document["models"] = {"r1111": document["models"]["r1111"]}
        document["senders"] = document["receivers"] = ["r1111"]
        document["extract"]["cuts"] = ["layer1", "layer4"]  # two alone, so far apart that a direction can show
        document["controls"], document["claims"] = {}, []
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}

    cells = whole("hernandez2022-small-resnets-laptop", change)["cells"]
    task, match = (column(where(cells, objective=name), "error") for name in ("task", "match"))
    itself = where(cells, objective="match-free", sender_lies="level")

    assert len(task) == 4
    assert (task > match).all()
    later, earlier = (
        column(where(cells, objective="task", sender_lies=lies), "accuracy") for lies in ("later", "earlier")
    )
    assert later > earlier + 0.05
    assert column(itself, "accuracy") == pytest.approx(column(itself, "unstitched"), abs=0.02)


@pytest.mark.usefixtures("data_root")
def test_networks_that_differ_by_chance_stitch_and_random_ones_do_not_as_bansal_et_al_find() -> None:
    """At the last cut; at the first, whatever is random does as well.

    The paper says so of all layers. At those between, stitches of few steps fall short: the laptop study tells by how
    much.
    """

    def change(document: Document) -> None:
        limit(document, 1500, 500)
        document["architectures"]["resnet18"]["width"] = 8
        document["extract"]["cuts"] = ["relu", "layer4.1"]
        document["senders"], document["controls"], document["claims"] = ["one"], {"random": {}}, []
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}

    cells = whole("bansal2021-initialisations-laptop", change)["cells"]
    first, last = column(cells, "accuracy") - column(cells, "random")

    assert first < 0.05
    assert last > 0.1
    assert column(where(cells, receiver_cut="layer4.1"), "difference") > -0.05
