"""Cells: one stitch between one pair of cuts, the unit of work of stitching.

A cell is keyed by all that decides its result (params, stores, weights, code), and its result lies under
that key outside of DVC's outputs. So a killed grid goes on with the cell it was at, and a grown one runs its
new cells only.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pandas
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Sender
from pipeline.atomic import digest
from pipeline.cutting import INPUT, Cuttable
from pipeline.errors import ParamsError, StoreError
from pipeline.imports import closure, code_digest
from pipeline.networks import read_network, read_plan
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Objective
from pipeline.params import Params, Stitching
from pipeline.prepared import read_prepared
from pipeline.randomness import seed_for, seeded
from pipeline.registry import build
from pipeline.relabelling import relabelled
from pipeline.senders import WithInput
from pipeline.stages.joints import problem
from pipeline.stitches import STITCHES
from pipeline.stitches.base import Joining, Stitch
from pipeline.store import Store, open_store
from pipeline.weights import weights_digest

KEYS = ["sender", "receiver", "seed", "data", "sender_cut", "receiver_cut", "map", "objective"]
_ELSEWHERE = ("device", "memory", "options", "extraction", "room")  # what moves no number, or is in the key in part


@dataclass(frozen=True)
class Cell:
    """Everything a worker needs to make this cell, and nothing that could differ between workers."""

    sender: str
    receiver: str
    seed: int
    data: str  # the sender's
    sender_cut: str
    receiver_cut: str
    map: str
    map_options: dict[str, Any]
    objective: str
    objective_options: dict[str, Any]
    options: Stitching
    root_seed: int
    device: str
    memory: int
    origin: str  # digest of the stores, weights and code it is made from

    @property
    def key(self) -> str:
        facts = {name: fact for name, fact in asdict(self).items() if name not in _ELSEWHERE}
        modes = [self.options.sender_bn, self.options.receiver_bn, self.options.dropout, asdict(self.options.labels)]
        recipe = asdict(self.options.recipe) if self.built_objective().descends else {}
        return digest(facts, modes, recipe)

    @property
    def folder(self) -> Path:
        return paths.scratch("stitch", self.key)

    @property
    def file(self) -> str:
        return f"{self.objective}--{self.sender_cut}--{self.receiver_cut}.safetensors"

    @property
    def painting(self) -> str:
        return str(Path(self.file).with_suffix(".npy"))

    @property
    def made(self) -> Path:
        """Where the stitch lies once the stage has ended."""
        return paths.stitches(self.sender, self.receiver, self.seed) / self.file

    def built_objective(self) -> Objective:
        return build(f"objectives.{self.objective}", OBJECTIVES, self.objective, self.objective_options)

    def stitch(self) -> Joining:
        """A fresh stitch of the right shape, initialised from the names alone."""
        variant: Stitch = build(f"stitches.{self.map}", STITCHES, self.map, self.map_options)
        source, target = self.source().shape(self.sender_cut), self.target().shape(self.receiver_cut)
        with seeded(seed_for(self.root_seed, "stitch", *self.names())):
            try:
                return variant.build(source, target)
            except ValueError as error:
                where = f"stitch.map: {self.sender}/{self.sender_cut} to {self.receiver}/{self.receiver_cut}"
                raise ParamsError(f"{where}: {error}; choose other cuts or another map") from error

    def scores(self) -> dict[str, float]:
        return json.loads((self.folder / "scores.json").read_text())

    def names(self) -> list[object]:
        return [getattr(self, key) for key in KEYS]

    def source(self) -> Sender:
        """What the sender gives, under the labels of this study."""
        return _named(self.held_source(), self)

    @property
    def towards(self) -> str:
        """The receiver's own data."""
        return self.options.towards

    def target(self) -> Sender:
        """What the receiver has of its own at its cuts; of the same samples, if its data are the sender's."""
        store = receiving_store(self)
        return _named(store, self) if self.towards == self.data else store

    def held_source(self) -> Sender:
        return _store(self.sender, self.seed, self.data, kept(self.options.sender_bn))

    def paired(self) -> bool:
        """Whether the receiver has activations of its own for the sender's samples."""
        return self.towards == self.data

    def online(self) -> bool:
        """Whether the sender runs beside the stitch while that is trained, for its statistics are the batch's."""
        return self.options.sender_bn == "batch"


def kept(mode: str) -> str:
    """The mode of the store that stands for `mode`: statistics of batches do not lie still."""
    return "eval" if mode == "eval" else "recalibrated"


def receiving_store(cell: Cell) -> Sender:
    return own_activations(cell.receiver, cell.seed, cell.towards, kept(cell.options.receiver_bn))


def own_activations(receiver: str, seed: int, data: str, mode: str) -> Sender:
    return WithInput(_store(receiver, seed, data, mode), read_prepared(paths.dataset(data)))


def _named(sender: Sender, cell: Cell) -> Sender:
    return relabelled(sender, cell.options.labels, read_plan(cell.receiver).classes)


def forget() -> None:
    """Stores and networks that are held open: for whoever makes them anew in one process."""
    _store.cache_clear()
    receiving.cache_clear()


@lru_cache(4)
def _store(model: str, seed: int, dataset: str, mode: str) -> Store:
    return open_store(model, seed, dataset, mode)


@lru_cache(2)
def receiving(model: str, seed: int, data: str, mode: str) -> Cuttable:
    """A network, traced for inputs such as its store was made of."""
    recalibrated = data if kept(mode) == "recalibrated" else ""
    network = read_network(model, seed, torch.device("cpu"), recalibrated)
    _store(model, seed, data, kept(mode)).expect(weights=weights_digest(network))
    return Cuttable(network, read_plan(model).shape)


AnyCell = TypeVar("AnyCell", bound=Cell)


def cells(params: Params, sender: str, receiver: str, seed: int) -> list[Cell]:
    """All cells of the pair, in the order of cuts, then objectives; each known to be joinable."""
    options = params.stitch
    given = _store(sender, seed, options.data, kept(options.sender_bn))
    taken = _store(receiver, seed, options.towards, kept(options.receiver_bn))
    origins = {name: origin([given.digest, taken.digest], options.map, name) for name in params.objectives}
    pairs = matched(given, taken, options.pairs)
    return [known(Cell(**facts)) for facts in planned(params, sender, receiver, seed, pairs, origins)]


def planned(
    params: Params, sender: str, receiver: str, seed: int, pairs: Sequence[tuple[str, str]], origins: dict[str, str]
) -> list[dict[str, Any]]:
    """The fields of a cell for every pair of cuts and every objective that has an origin."""
    options = params.stitch
    memory = int(params.machine.memory_gb * 1e9 / params.machine.slots / 2)
    return [
        {
            "sender": sender, "receiver": receiver, "seed": seed, "data": options.data,
            "sender_cut": source, "receiver_cut": target,
            "map": options.map, "map_options": params.stitches[options.map],
            "objective": name, "objective_options": params.objectives[name], "options": options,
            "root_seed": params.seed, "device": params.machine.device, "memory": memory, "origin": found,
        }
        for source, target in pairs for name, found in origins.items()
    ]  # fmt: skip


def known(cell: AnyCell) -> AnyCell:
    """`cell`, if its stitch can be built and its objective has what it needs."""
    objective = cell.built_objective()
    if wrong := problem(objective, cell.stitch(), 2 * cell.memory):
        pair = f"{cell.sender}/{cell.sender_cut} to {cell.receiver}/{cell.receiver_cut}"
        raise ParamsError(f"objectives.{cell.objective}: {pair}: {wrong}")
    if objective.paired and not cell.paired():
        raise ParamsError(
            f"objectives.{cell.objective}: needs the receiver's activations on the sender's samples; "
            f"set stitch.towards to {cell.data}, or leave it out"
        )
    if objective.paints and painter(cell) is None:
        raise ParamsError(
            f"objectives.{cell.objective}: {cell.receiver} makes no image after {cell.receiver_cut}; "
            "it should be an autoencoder, cut before its decoder's end"
        )
    return cell


def painter(cell: Cell) -> nn.Module | None:
    """From the receiver's cut to the image it makes; nothing to do at its input, None where it makes none."""
    if cell.receiver_cut == INPUT:
        return nn.Identity()
    image = read_plan(cell.receiver).variant().image
    if not image:
        return None
    model = receiving(cell.receiver, cell.seed, cell.towards, cell.options.receiver_bn)
    return model.between(model.cut(cell.receiver_cut), model.cut(image))


def origin(digests: Sequence[str], kind: str, objective: str, *more: str) -> str:
    """Digest of what is stitched (and so of the weights) and of the code that a cell's numbers come from."""
    modules = [
        "pipeline.stages.making",
        STITCHES[kind].partition(":")[0],
        OBJECTIVES[objective].partition(":")[0],
        *more,
    ]
    return digest(list(digests), code_digest(closure(*modules)))


def matched(sender: Store, receiver: Store, pairs: str) -> Sequence[tuple[str, str]]:
    """Pairs of a sender's cut and a receiver's."""
    if sender.identity.dataset == receiver.identity.dataset:
        for field in ("inputs", "samples"):
            receiver.expect(**{field: getattr(sender.identity, field)})
    if pairs == "input":
        return [(source, INPUT) for source in sender.cuts]
    if pairs == "all":
        return [(source, target) for source in sender.cuts for target in receiver.cuts]
    same = [(cut, cut) for cut in sender.cuts if cut in receiver.cuts]
    if not same:
        raise StoreError(f"{sender.folder}: has no cut of the name of one of {receiver.folder}; use stitch.pairs: all")
    return same


def groups(tasks: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that share a factorisation together: those of one sender's cut that are found in closed form."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in tasks:
        alone = () if cell.built_objective().closed else (cell.receiver_cut,)
        found.setdefault((cell.sender_cut, cell.objective, *alone), []).append(cell)
    return list(found.values())


def csv(rows: Iterable[dict[str, Any]]) -> str:
    """A table of cells: one row a cell and measure."""
    return pandas.DataFrame(rows, columns=[*KEYS, "measure", "value"]).to_csv(index=False)
