"""From the files of a study to its evidence; what to read follows from params alone."""

import json
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas
from pandas import DataFrame

from pipeline import paths
from pipeline.arrays import PAINTED
from pipeline.errors import DataError
from pipeline.figures.base import INPUT, SWATCH_CLASSES, SWATCHES, Evidence, Place
from pipeline.figures.tables import distinct, where
from pipeline.params import Params
from pipeline.tables import BARS, CELL, CURVE, NETWORK, SIMILARITY, TRIAL, TRUST, read_rows


def read_evidence(params: Params) -> Evidence:
    pairs = list(product(params.senders, params.receivers, params.seeds))
    receivers = product(params.receivers, params.seeds)
    similarity = _all(SIMILARITY, map(paths.comparison, params.similarity))
    cells = _all(CELL, (paths.cells(*pair) for pair in pairs))
    controls = _controls(params, "cells")
    paintings = dict(_paintings(params, cells, controls))
    return Evidence(
        cells=cells,
        audits=_all(CELL, (paths.audit(*pair) / "rows.csv" for pair in pairs)),
        controls=controls,
        control_audits=_controls(params, "audits"),
        bars=_bars(params, pairs),
        networks=_accuracies(params),
        curves=pandas.concat(_curves(params), ignore_index=True),
        similarity=similarity,
        detectors=_all(TRUST, (paths.detectors(*each) / "trust.csv" for each in receivers)),
        trials=_all(TRIAL, map(paths.trial, params.trials)) if params.trials else DataFrame(),
        cuts={model: _cuts(model, similarity, cells) for model in params.models},
        towards=params.stitch.towards,
        classes=params.stitch.labels.classes,
        own={name: model.dataset for name, model in params.models.items()},
        **(
            {"originals": _originals(params.stitch.data, params.stitch.labels.classes), "paintings": paintings}
            if paintings
            else {}
        ),
        swatches={name: read_swatches(name) for name in params.datasets},
    )


def _originals(dataset: str, classes: int | None) -> np.ndarray:
    """The test images that cells begin with: of the first so many classes."""
    folder = paths.dataset(dataset) / "test"
    labels = np.load(folder / "labels.npy")
    numbers = np.flatnonzero(labels < (classes or labels.max() + 1))[:PAINTED]
    return np.load(folder / "inputs.npy", mmap_mode="r")[numbers]


def _paintings(params: Params, cells: DataFrame, controls: DataFrame) -> Iterator[tuple[Place, np.ndarray]]:
    """Of the cells that paint, controls last; their files lie beside those of their stitches."""
    keys, seed = ["sender", "receiver", "objective", "sender_cut", "receiver_cut"], params.seeds[0]
    for rows in (cells, controls):
        first = where(rows, seed=seed)[keys].drop_duplicates()
        for sender, receiver, objective, source, target in first.itertuples(index=False, name=None):
            stitched = paths.stitches(sender, receiver, seed)
            folder = stitched if rows is cells else paths.controls(receiver, seed) / sender
            if (path := folder / f"{objective}--{source}--{target}.npy").exists():
                yield (sender, receiver, objective, source, target), np.load(path)


def read_swatches(dataset: str) -> dict[str, list[np.ndarray]]:
    """The first images of each class in the training split, by class name."""
    folder = paths.dataset(dataset)
    try:  # not by `prepared`, which would have the report wait for torch
        classes = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["classes"]
        images = np.load(folder / "train" / "inputs.npy", mmap_mode="r")
        labels = np.load(folder / "train" / "labels.npy")
    except FileNotFoundError as error:
        raise DataError(f"{error.filename}: no such file; `dvc repro` makes it") from error
    places = {name: np.flatnonzero(labels == i)[:SWATCHES] for i, name in enumerate(classes[:SWATCH_CLASSES])}
    return {name: [np.moveaxis(images[i], 0, -1) for i in at] for name, at in places.items() if len(at)}


def _all(columns: list[str], files: Iterable[Path]) -> DataFrame:
    return pandas.concat([read_rows(path, columns) for path in files], ignore_index=True)


def _controls(params: Params, kind: str) -> DataFrame:
    receivers = product(params.receivers, params.seeds)
    return _all(CELL, (paths.controls(*receiver) / f"{kind}.csv" for receiver in receivers))


def _bars(params: Params, pairs: list[tuple[str, str, int]]) -> DataFrame:
    receivers = product(params.receivers, params.seeds)
    folders = [*(paths.audit(*pair) for pair in pairs), *(paths.controls(*receiver) for receiver in receivers)]
    return _all(BARS, (folder / "bars.csv" for folder in folders))


def _accuracies(params: Params) -> DataFrame:
    networks = list(product(params.models, params.seeds))
    own = (paths.network(*network) / "rows.csv" for network in networks)
    elsewhere = (paths.unstitched(*network, data) for network in networks for data in params.extract.datasets)
    # On its own dataset a network was tested when it was trained, and perhaps again.
    return _all(NETWORK, [*own, *elsewhere]).drop_duplicates(NETWORK[:-1], ignore_index=True)


def _curves(params: Params) -> Iterator[DataFrame]:
    for model, seed in product(params.models, params.seeds):
        curve = read_rows(paths.network(model, seed) / "curve.csv", CURVE)
        yield DataFrame({"model": model, "seed": seed}, index=curve.index).join(curve)


def _cuts(model: str, similarity: DataFrame, cells: DataFrame) -> list[str]:
    """The model's cuts in its own order, which is that of the rows; its input is before all."""
    compared = distinct(where(similarity, model=model), "cut")
    sent = distinct(where(cells, sender=model), "sender_cut")
    received = distinct(where(cells, receiver=model), "receiver_cut")
    return list(dict.fromkeys([*filter(INPUT.__eq__, received), *compared, *sent, *received]))
