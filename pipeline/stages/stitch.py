"""A sender's store and a receiver → stitches of all their cells, and how well each answers."""

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline import paths
from pipeline.atomic import appear, write_text
from pipeline.engine import run as run_tasks
from pipeline.params import Params
from pipeline.stages.baselines import Measured, measured, refuse_large
from pipeline.stages.cells import KEYS, Cell, csv
from pipeline.stages.gathering import gathering
from pipeline.stages.grid import cells, groups
from pipeline.stages.making import done, make


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    tasks = cells(params, sender, receiver, seed)
    refuse_large(tasks, params)
    run_tasks(groups(tasks), make, done, params.machine.slots, f"{sender} to {receiver}, seed {seed}")
    collect(tasks, params, sender, receiver, seed)


def collect(tasks: Sequence[Cell], params: Params, sender: str, receiver: str, seed: int) -> None:
    """The cells' results as the stage's outputs, in the order of the cells."""
    gathered = gathering("stitch", sender, receiver, seed)
    for task in tasks:
        for name in filter(lambda name: (task.folder / name).exists(), (task.file, task.painting)):
            shutil.copyfile(task.folder / name, gathered / name)
    table = csv(rows(tasks, measured(tasks, params, f"{sender}, seed {seed}")))
    appear(gathered, paths.stitches(sender, receiver, seed))
    write_text(paths.cells(sender, receiver, seed), table)


def rows(tasks: Sequence[Cell], alone: Measured) -> Iterator[dict[str, Any]]:
    """A row for every measure of every cell, with what its sender's activations can do alone."""
    for task in tasks:
        for measure, value in {**task.scores(), **alone.get((task.sender, task.sender_cut), {})}.items():
            yield {**dict(zip(KEYS, task.names(), strict=True)), "measure": measure, "value": value}
