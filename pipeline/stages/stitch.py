"""A sender's store and a receiver → stitches of all their cells, and how well each answers."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

from torch import nn

from pipeline import paths
from pipeline.arrays import Sender
from pipeline.atomic import appear, digest, write_json, write_text
from pipeline.controls import CONTROLS
from pipeline.controls.base import Baseline, Given
from pipeline.devices import choose
from pipeline.engine import run as run_tasks
from pipeline.errors import ResourceError
from pipeline.imports import closure, code_digest
from pipeline.params import Options, Params
from pipeline.progress import progress
from pipeline.randomness import seed_for
from pipeline.reading import accuracy, batches_of
from pipeline.registry import build, module_of
from pipeline.stages.cells import KEYS, Cell, csv
from pipeline.stages.gathering import gathering
from pipeline.stages.grid import cells, groups
from pipeline.stages.making import done, make
from pipeline.training import Loss, fit


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    tasks = cells(params, sender, receiver, seed)
    refuse_large(tasks, params)
    run_tasks(groups(tasks), make, done, params.machine.slots, f"{sender} to {receiver}, seed {seed}")
    collect(tasks, params, sender, receiver, seed)


def refuse_large(tasks: Sequence[Cell], params: Params) -> None:
    """What a baseline holds and there is no room for is told before anything is stitched."""
    sources = {(task.sender, task.sender_cut): task.source() for task in tasks}
    for ((sender, cut), source), (name, baseline) in product(sources.items(), baselines(params.controls).items()):
        rows = source.rows("train", cut)
        needed = baseline.held(rows)
        if needed > params.machine.memory_gb * 1e9:
            raise ResourceError(
                f"controls.{name}: {rows.shape[0]} activations of {sender}/{cut} need {needed / 1e9:.3g} GB; "
                f"machine.memory_gb gives {params.machine.memory_gb:g}: use fewer images or a later cut"
            )


def collect(tasks: Sequence[Cell], params: Params, sender: str, receiver: str, seed: int) -> None:
    """The cells' results as the stage's outputs, in the order of the cells."""
    gathered = gathering("stitch", sender, receiver, seed)
    for task in tasks:
        for name in filter(lambda name: (task.folder / name).exists(), (task.file, task.painting)):
            shutil.copyfile(task.folder / name, gathered / name)
    table = csv(rows(tasks, params))
    appear(gathered, paths.stitches(sender, receiver, seed))
    write_text(paths.cells(sender, receiver, seed), table)


def rows(tasks: Sequence[Cell], params: Params) -> Iterator[dict[str, Any]]:
    """A row for every measure of every cell, with what its sender's activations can do by themselves."""
    asked = baselines(params.controls)
    found: dict[tuple[str, str], dict[str, float]] = {}
    for task in progress(tasks, len(tasks), "baselines", "cells"):
        source = task.sender, task.sender_cut
        if source not in found:
            found[source] = {name: _accuracy(task, name, baseline, params) for name, baseline in asked.items()}
        for measure, value in {**task.scores(), **found[source]}.items():
            yield {**dict(zip(KEYS, task.names(), strict=True)), "measure": measure, "value": value}


def baselines(controls: dict[str, Options]) -> dict[str, Baseline]:
    built = {name: build(f"controls.{name}", CONTROLS, name, options) for name, options in controls.items()}
    return {name: control for name, control in built.items() if isinstance(control, Baseline)}


def _accuracy(cell: Cell, name: str, baseline: Baseline, params: Params) -> float:
    """Of the baseline on what the cell's sender gives; kept under its content, since every receiver asks again."""
    sender, code = cell.source(), code_digest(closure(__name__, module_of(CONTROLS, name)))
    seed = seed_for(params.seed, "baseline", cell.seed, cell.sender_cut)  # of nothing that names the sender: it is kept
    recipes = [asdict(params.recipes[recipe]) for recipe in baseline.recipes]
    key = digest(sender.digest, cell.sender_cut, repr(baseline), recipes, seed if recipes else None, code)
    path = paths.scratch("baseline", key).with_suffix(".json")
    if not path.exists():
        write_json(path, baseline.accuracy(_given(cell, sender, params, seed)))
    return json.loads(path.read_text())


def _given(cell: Cell, sender: Sender, params: Params, seed: int) -> Given:
    device = choose(cell.device)

    def descend(module: nn.Module, loss: Loss, recipe: str) -> None:
        feed = batches_of(sender.rows("train", cell.sender_cut), sender.labels("train"), cell.memory, device)
        fit(module, loss, feed, params.recipes[recipe], seed, f"probe {cell.sender} {cell.sender_cut}")

    def tested(module: nn.Module) -> float:
        return accuracy(module, sender.rows("test", cell.sender_cut), sender.labels("test"), device)

    return Given(lambda split: sender.rows(split, cell.sender_cut), sender.labels, device, seed, descend, tested)
