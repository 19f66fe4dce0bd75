"""A receiver → the cells of its controls, trained, tested and audited as those of any sender."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline import paths
from pipeline.arrays import Sender
from pipeline.atomic import appear, write_text
from pipeline.controls import CONTROLS
from pipeline.controls.base import Control, Setting
from pipeline.devices import choose
from pipeline.engine import run as run_tasks
from pipeline.networks import read_plan
from pipeline.norms import recalibrated
from pipeline.objectives import OBJECTIVES
from pipeline.params import Extraction, Params
from pipeline.prepared import read_prepared
from pipeline.progress import progress
from pipeline.randomness import seed_for
from pipeline.registry import build, module_of
from pipeline.stages import audit
from pipeline.stages.baselines import measured, refuse_large
from pipeline.stages.cells import Cell, csv, kept, own_activations
from pipeline.stages.extract import inputs, store
from pipeline.stages.gathering import gathering
from pipeline.stages.grid import groups, known, origin, planned
from pipeline.stages.making import done, make
from pipeline.stages.stitch import rows
from pipeline.store import Identity, Store, open_store


@dataclass(frozen=True)
class ControlCell(Cell):
    """A cell whose sender is a control; `sender` is the control's name."""

    control_options: dict[str, Any]
    extraction: Extraction
    room: float  # gigabytes for that, which no other worker shares

    def held_source(self) -> Sender:
        return _sender(self)

    def paired(self) -> bool:
        return super().paired() and self.control.paired

    def online(self) -> bool:
        return False  # an untrained network is recalibrated instead; the others have no statistics

    @property
    def made(self) -> Path:
        return self.folder / self.file

    @property
    def control(self) -> Control:
        return build(f"controls.{self.sender}", CONTROLS, self.sender, self.control_options)


def run(params: Params, receiver: str, seed: int) -> None:
    shutil.rmtree(_untrained_folder(receiver, seed), ignore_errors=True)  # an earlier run's, of who knows what
    _opened.cache_clear()
    tasks = [cell for name in senders(params) for cell in cells(params, name, receiver, seed)]
    refuse_large(tasks, params)
    run_tasks(groups(tasks), make, done, params.machine.slots, f"controls of {receiver}, seed {seed}")
    shown = progress(tasks, len(tasks), f"audit controls of {receiver}", "cells")
    audits = audit.audited(shown, params, receiver, seed)
    folder = gathering("control", receiver, seed)
    write_text(folder / "cells.csv", csv(rows(tasks, measured(tasks, params, f"controls of {receiver}, seed {seed}"))))
    audit.write(audits, params.detection, folder, "audits.csv")
    for cell in tasks:
        if (painted := cell.folder / cell.painting).exists():
            (folder / cell.sender).mkdir(exist_ok=True)
            shutil.copyfile(painted, folder / cell.sender / cell.painting)
    appear(folder, paths.controls(receiver, seed))
    shutil.rmtree(_untrained_folder(receiver, seed), ignore_errors=True)


def senders(params: Params) -> Iterator[str]:
    """Names of the controls that are stitched; what is painted into an input is held against none."""
    if params.stitch.pairs == "input":
        return
    for name, options in params.controls.items():
        control = build(f"controls.{name}", CONTROLS, name, options)
        if isinstance(control, Control):
            yield name


def cells(params: Params, name: str, receiver: str, seed: int) -> list[ControlCell]:
    """Each of the receiver's cuts from its namesake, by every objective that can do without what is not there."""
    control: Control = build(f"controls.{name}", CONTROLS, name, params.controls[name])
    objectives = {n: build(f"objectives.{n}", OBJECTIVES, n, o) for n, o in params.objectives.items()}
    possible = [n for n, objective in objectives.items() if control.paired or not objective.paired]
    taken = open_store(receiver, seed, params.stitch.towards, kept(params.stitch.receiver_bn))
    more = {"control_options": params.controls[name], "extraction": params.extract, "room": params.machine.memory_gb}
    pairs = [(cut, cut) for cut in taken.cuts]
    drafts = planned(params, name, receiver, seed, pairs, dict.fromkeys(possible, ""))
    found = [ControlCell(**facts, **more) for facts in drafts]
    digests = [found[0].held_source().digest, taken.digest, read_plan(receiver).function] if found else []
    module = module_of(CONTROLS, name)
    return [replace(known(cell), origin=origin(digests, cell.map, cell.objective, __name__, module)) for cell in found]


def _sender(cell: ControlCell) -> Sender:
    classes = read_plan(cell.receiver).classes
    seed = seed_for(cell.root_seed, "controls", cell.receiver, cell.seed)
    receiver = own_activations(cell.receiver, cell.seed, cell.towards, kept(cell.options.sender_bn))
    return cell.control.sender(Setting(receiver, lambda: _untrained(cell, seed), classes, seed))


def _untrained(cell: ControlCell, seed: int) -> Store:
    """Extracted when first asked for, which is before any worker asks."""
    folder = _untrained_folder(cell.receiver, cell.seed)
    if not folder.exists():
        device, data = choose(cell.device), read_prepared(paths.dataset(cell.data))
        plan = read_plan(cell.receiver)
        network = plan.network(seed).requires_grad_(False).eval().to(device)
        if kept(cell.options.sender_bn) == "recalibrated":
            network = recalibrated(network, inputs(data, device, cell.options.labels.classes))
        options = cell.extraction
        name = f"{cell.receiver}, untrained"
        identity = Identity(name, cell.seed, cell.data, "", data.digest, data.samples, options.layout, options.dtype)
        store(network, plan.function, identity, data, cell.extraction, cell.room, folder, device)
    return _opened(folder)


@lru_cache(1)
def _opened(folder: Path) -> Store:
    return Store(folder)


def _untrained_folder(receiver: str, seed: int) -> Path:
    return paths.scratch("untrained", f"{receiver}-{seed}")
