"""A sender's store and a receiver → stitches of all their cells, and how well each answers."""

import json
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline import paths
from pipeline.arrays import Activations, Labels, Rows
from pipeline.atomic import appear, digest, write_json, write_text
from pipeline.controls import CONTROLS
from pipeline.controls.base import Baseline
from pipeline.engine import run as run_tasks
from pipeline.imports import closure, code_digest
from pipeline.params import Options, Params
from pipeline.progress import progress
from pipeline.registry import build, module_of
from pipeline.stages.cells import KEYS, Cell, csv
from pipeline.stages.gathering import gathering
from pipeline.stages.grid import cells, groups
from pipeline.stages.making import done, make

BLOCK = 1024  # rows read at once


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    tasks = cells(params, sender, receiver, seed)
    run_tasks(groups(tasks), make, done, params.machine.slots, f"{sender} to {receiver}, seed {seed}")
    collect(tasks, params.controls, sender, receiver, seed)


def collect(tasks: Sequence[Cell], controls: dict[str, Options], sender: str, receiver: str, seed: int) -> None:
    """The cells' results as the stage's outputs, in the order of the cells."""
    gathered = gathering("stitch", sender, receiver, seed)
    for task in tasks:
        for name in filter(lambda name: (task.folder / name).exists(), (task.file, task.painting)):
            shutil.copyfile(task.folder / name, gathered / name)
    table = csv(rows(tasks, controls))
    appear(gathered, paths.stitches(sender, receiver, seed))
    write_text(paths.cells(sender, receiver, seed), table)


def rows(tasks: Sequence[Cell], controls: dict[str, Options]) -> Iterator[dict[str, Any]]:
    """A row for every measure of every cell, with what its sender's activations can do by themselves."""
    baselines = {name: build(f"controls.{name}", CONTROLS, name, options) for name, options in controls.items()}
    asked = {name: baseline for name, baseline in baselines.items() if isinstance(baseline, Baseline)}
    found: dict[tuple[str, str], dict[str, float]] = {}
    for task in progress(tasks, len(tasks), "baselines", "cells"):
        source = task.sender, task.sender_cut
        if source not in found:
            found[source] = {name: _accuracy(task, name, baseline) for name, baseline in asked.items()}
        for measure, value in {**task.scores(), **found[source]}.items():
            yield {**dict(zip(KEYS, task.names(), strict=True)), "measure": measure, "value": value}


def _accuracy(cell: Cell, name: str, baseline: Baseline) -> float:
    """Of the baseline on what the cell's sender gives; kept under its content, since every receiver asks again."""
    sender, code = cell.source(), code_digest(closure(__name__, module_of(CONTROLS, name)))
    key = digest(sender.digest, cell.sender_cut, repr(baseline), code)
    path = paths.scratch("baseline", key).with_suffix(".json")
    if not path.exists():
        train, test = (_pooled(sender.rows(s, cell.sender_cut), sender.labels(s)) for s in ("train", "test"))
        write_json(path, baseline.accuracy(train, test))
    return json.loads(path.read_text())


def _pooled(rows: Activations, labels: Labels) -> tuple[Rows, Labels]:
    """The mean over places, a row of features a sample."""
    blocks = []
    for start in range(0, rows.shape[0], BLOCK):
        block = rows.read(start, min(start + BLOCK, rows.shape[0]))
        axes = {4: (2, 3), 3: (1,)}.get(block.ndim, ())
        blocks.append(block.mean(axes, dtype=np.float64) if axes else block.astype(np.float64))
    return np.concatenate(blocks), labels
