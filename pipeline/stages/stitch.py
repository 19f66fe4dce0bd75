"""A sender's store and a receiver → stitches of all their cells, and how well each answers."""

import shutil

import pandas

from pipeline import paths
from pipeline.atomic import appear, digest, write_text
from pipeline.engine import run as run_tasks
from pipeline.params import Params
from pipeline.stages.cells import KEYS, Cell, cells, done, make


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    tasks = cells(params, sender, receiver, seed)
    run_tasks(tasks, make, done, params.machine.slots, f"{sender} to {receiver}, seed {seed}")
    collect(tasks, sender, receiver, seed)


def collect(tasks: list[Cell], sender: str, receiver: str, seed: int) -> None:
    """The cells' results as the stage's outputs, in the order of the cells."""
    gathered = paths.scratch("gathered", digest(sender, receiver, seed))
    shutil.rmtree(gathered, ignore_errors=True)
    gathered.mkdir(parents=True)
    for task in tasks:
        shutil.copyfile(task.folder / task.file, gathered / task.file)
    appear(gathered, paths.stitches(sender, receiver, seed))
    rows = [
        {**dict(zip(KEYS, task.names(), strict=True)), "measure": measure, "value": value}
        for task in tasks
        for measure, value in task.scores().items()
    ]
    write_text(paths.cells(sender, receiver, seed), pandas.DataFrame(rows).to_csv(index=False))
