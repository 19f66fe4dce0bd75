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
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages import audit, compare, control, dataset, detect, extract, plan, report, stitch, train, trial
from pipeline.stages import cells as stage_cells
from pipeline.stages.check import check

TOP = Path(__file__).resolve().parents[2]

Document = dict[str, Any]


def whole(name: str, change: Callable[[Document], None], data_root: Path) -> dict[str, DataFrame]:
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
    """Of every dataset, however deep its files' own is."""
    for entry in document["datasets"].values():
        while "limit" not in entry:
            entry = entry["source"]
        entry["limit"] = {"train": train, "test": test}


def test_colours_and_noise_stitch_into_digits_as_smith_et_al_find(data_root: Path) -> None:
    """Colour-Only never saw a digit, and noise is no image; Digit's own accuracy is what they are held against."""

    def change(document: Document) -> None:
        limit(document, 4000, 1000)
        for section in ("models", "datasets"):
            document[section] = {
                n: document[section][n] for n in ("correlated", "digit", "colour_only") if n in document[section]
            }
        document["models"].pop("correlated")
        document["senders"] = ["digit", "colour_only"]
        document["extract"]["cuts"] = ["layer2", "layer3"]
        document["controls"] = {"noise": document["controls"]["noise"], "probe": document["controls"]["probe"]}
        document["trials"], document["claims"] = {}, []
        document["stitch"] |= {"lr": 0.01}

    tables = whole("smith2025-senders-laptop", change, data_root)
    print(tables["cells"].to_string())
    print(tables["published"].to_string())


def test_other():
    pass
