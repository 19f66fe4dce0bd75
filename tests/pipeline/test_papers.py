"""One study of each paper, cut down to a minute, on real images and through every stage: does its main claim show?

The settings are those of the laptop studies with fewer images, networks and cuts. What is asked is the direction alone.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pandas
from pandas import DataFrame
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.figures.tables import where
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages import audit, compare, control, dataset, detect, extract, plan, report, stitch, train, trial
from pipeline.stages import cells as stage_cells
from pipeline.stages.check import check

TOP = Path(__file__).resolve().parents[2]

Document = dict[str, Any]


def whole(name: str, change: Callable[[Document], None]) -> dict[str, DataFrame]:
    """The tables of the study `name` with its params changed, every stage run in this process."""
    document = YAML(typ="safe").load(TOP / "studies" / name / "params.yaml")
    document |= {"root": str(TOP), "seeds": [0]}
    document["machine"] |= {"device": "cpu", "slots": 1, "memory_gb": 4}
    change(document)
    params = typed_params(document)
    stage_cells.forget()
    audit.receiver_spectrum.cache_clear()
    assert check(params) == []
    for stage, arguments in plan_of(params):
        stage.run(params, *arguments)
    stage_cells.forget()
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


def limit(document: Document, train: int, test: int) -> None:
    """Of every dataset that has one, be it of what it is made of."""
    for entry in document["datasets"].values():
        while "source" in entry:
            entry = entry["source"]
        if "limit" in entry:
            entry["limit"] = {"train": train, "test": test}


def test_colours_and_noise_stitch_into_digits_as_smith_et_al_find(data_root: Path) -> None:
    """Colour-Only never saw a digit, and noise is no image; what they are held against is Digit's own accuracy."""

    def change(document: Document) -> None:
        limit(document, 4000, 1000)
        document["models"] = {name: document["models"][name] for name in ("digit", "colour_only")}
        document["senders"] = ["colour_only"]
        document["extract"]["cuts"] = ["layer2", "layer3"]
        document["controls"] = {"noise": document["controls"]["noise"], "probe": document["controls"]["probe"]}
        document["trials"], document["claims"] = {}, []
        document["stitch"]["lr"] = 0.01

    tables = whole("smith2025-senders-laptop", change)

    for sender in ("colour_only", "noise"):
        cells = where(tables["cells" if sender == "colour_only" else "controls"], sender=sender)
        print(cells.to_string())


def test_task_loss_matching_is_a_worse_index_than_cka_as_balogh_and_jelasity_find(data_root: Path) -> None:
    def change(document: Document) -> None:
        limit(document, 1500, 500)
        document["models"] = {name: document["models"][name] for name in ("a", "b")}
        document["senders"] = document["receivers"] = ["a", "b"]
        document["controls"] = {}
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}
        document["trials"] = {"layer_identification": document["trials"]["layer_identification"]}
        document["similarity"] = {"linear_cka": document["similarity"]["linear_cka"]}
        document["comparison"] = {"permutations": 0, "groups": 0}
        document["figures"].pop("truncations")
        document["figures"]["scores_by_cut"]["detector"] = "mahalanobis"
        document["claims"] = []

    tables = whole("balogh2025-vit-laptop", change)
    print(tables["trials"].to_string())
    print(tables["cells"].groupby(["objective","sender","receiver"])[["accuracy","difference","auroc_mahalanobis"]].mean().to_string())
    print(tables["cells"].groupby(["objective","receiver_cut"])[["accuracy","difference","auroc_mahalanobis"]].mean().to_string())


def test_what_fits_by_the_task_is_far_from_what_is_expected_as_hernandez_et_al_find(data_root: Path) -> None:
    def change(document: Document) -> None:
        limit(document, 1500, 500)
        document["models"] = {name: document["models"][name] for name in ("r1111",)}
        document["senders"] = document["receivers"] = ["r1111"]
        document["extract"]["cuts"] = ["layer1", "layer2", "layer3", "layer4"]
        document["controls"], document["claims"] = {}, []
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}

    tables = whole("hernandez2022-small-resnets-laptop", change)
    print(tables["cells"].to_string())


def test_networks_that_differ_by_chance_stitch_and_a_random_one_does_not_as_bansal_et_al_find(data_root: Path) -> None:
    def change(document: Document) -> None:
        limit(document, 2000, 500)
        document["architectures"]["resnet18"]["width"] = 8
        document["extract"]["cuts"] = ["relu", "layer4.1"]
        document["senders"] = ["one"]
        document["controls"] = {"random": {}}
        document["detectors"] = {"mahalanobis": document["detectors"]["mahalanobis"]}
        document["claims"] = []

    tables = whole("bansal2021-initialisations-laptop", change)
    print(tables["cells"].to_string())
