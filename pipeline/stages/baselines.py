"""What the activations of senders say of the labels by themselves, for stitches to be held against."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from torch import nn

from pipeline import paths
from pipeline.arrays import Sender
from pipeline.atomic import digest, write_json
from pipeline.classifying import share_right
from pipeline.controls import CONTROLS
from pipeline.controls.base import Baseline, Loss, Material
from pipeline.devices import choose
from pipeline.engine import run as run_tasks
from pipeline.errors import ResourceError
from pipeline.imports import closure, code_digest
from pipeline.networks import read_plan
from pipeline.params import Options, Params, Recipe
from pipeline.randomness import seed_for
from pipeline.reading import batches_of
from pipeline.registry import build, module_of
from pipeline.relabelling import relabelled
from pipeline.stages.cells import Cell
from pipeline.training import fit

Measured = dict[tuple[str, str], dict[str, float]]  # by sender and cut, by baseline


@dataclass(frozen=True)
class Measurement:
    """One baseline of one cut of a sender; all who ask for the same content find what the first one left."""

    cell: Cell  # any of that cut
    name: str
    options: Options
    recipes: Mapping[str, Recipe]

    @property
    def baseline(self) -> Baseline:
        return build(f"controls.{self.name}", CONTROLS, self.name, self.options)

    @property
    def sender(self) -> Sender:
        """Under its own labels, whatever the study's stitches or objectives call them.

        Not kept: it may hold images, and tasks are sent to workers.
        """
        labels = replace(self.cell.options.labels, offset=0, permutation=None)
        return relabelled(self.cell.held_source(), labels, read_plan(self.cell.receiver).classes)

    @property
    def seed(self) -> int:
        """Without the names of sender and receiver, under which others will look for the same."""
        return seed_for(self.cell.root_seed, "baseline", self.name, self.cell.seed, self.cell.sender_cut)

    @cached_property
    def path(self) -> Path:
        trained = self.baseline.recipes
        by = [self.seed, *(asdict(self.recipes[name]) for name in trained)] if trained else []
        code = code_digest(closure(__name__, module_of(CONTROLS, self.name)))
        key = digest(self.sender.digest, self.cell.sender_cut, repr(self.baseline), by, code)
        return paths.scratch("baseline", key).with_suffix(".json")

    @property
    def needs(self) -> int:
        return self.baseline.needs(self.sender.rows("train", self.cell.sender_cut))


def measured(cells: Sequence[Cell], params: Params, what: str) -> Measured:
    """The accuracy of every baseline of the study, at every cut that the cells stitch from."""
    asked = list(_measurements(cells, params))
    run_tasks(asked, _measure, _done, params.machine.slots, f"baselines of {what}")
    found = Measured()
    for each in asked:
        source = each.cell.sender, each.cell.sender_cut
        found.setdefault(source, {})[each.name] = json.loads(each.path.read_text())
    return found


def refuse_large(cells: Sequence[Cell], params: Params) -> None:
    """What must be held at once and there is no room for is told before anything is stitched."""
    for each in _measurements(cells, params):
        room = params.machine.memory_gb / params.machine.slots
        if each.needs > room * 1e9:
            cell = each.cell
            samples = len(each.sender.labels("train"))
            raise ResourceError(
                f"controls.{each.name}: {samples} activations of {cell.sender}/{cell.sender_cut} need "
                f"{each.needs / 1e9:.3g} GB; machine.memory_gb gives {room:g} to each of its slots: "
                "use fewer images, fewer slots or a later cut"
            )


def _measurements(cells: Sequence[Cell], params: Params) -> Iterator[Measurement]:
    sources = dict[tuple[str, str], Cell]()
    for cell in cells:
        sources.setdefault((cell.sender, cell.sender_cut), cell)
    for name, options in params.controls.items():
        if isinstance(build(f"controls.{name}", CONTROLS, name, options), Baseline):
            for cell in sources.values():
                yield Measurement(cell, name, options, params.recipes)


def _done(measurement: Measurement) -> bool:
    return measurement.path.exists()


def _measure(measurement: Measurement) -> None:
    cell, sender = measurement.cell, measurement.sender
    device = choose(cell.device)

    def descend(module: nn.Module, loss: Loss, recipe: str) -> None:
        feed = batches_of(sender.rows("train", cell.sender_cut), sender.labels("train"), cell.memory, device)
        what = f"{measurement.name} of {cell.sender}/{cell.sender_cut}"
        fit(module, loss, feed, measurement.recipes[recipe], measurement.seed, what)

    def test(module: nn.Module) -> float:
        return share_right(module, sender.rows("test", cell.sender_cut), sender.labels("test"), device)

    material = Material(
        lambda split: sender.rows(split, cell.sender_cut), sender.labels, device, measurement.seed, descend, test
    )
    write_json(measurement.path, measurement.baseline.accuracy(material))
