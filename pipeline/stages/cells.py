"""Cells: one stitch between one pair of cuts, the unit of work of stitching.

A cell is keyed by all that decides its result (params, stores, weights, code), and its result lies under
that key outside of DVC's outputs. So a killed grid goes on with the cell it was at, and a grown one runs its
new cells only.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Sender
from pipeline.atomic import digest
from pipeline.cutting import INPUT, Cuttable
from pipeline.errors import ParamsError
from pipeline.networks import read_network, read_plan
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Objective
from pipeline.params import Stitching
from pipeline.prepared import read_prepared
from pipeline.randomness import seed_for, seeded
from pipeline.registry import build
from pipeline.relabelling import relabelled
from pipeline.senders import WithInput
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
        return opened(self.sender, self.seed, self.data, kept(self.options.sender_bn))

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
    return WithInput(opened(receiver, seed, data, mode), read_prepared(paths.dataset(data)))


def _named(sender: Sender, cell: Cell) -> Sender:
    labels = cell.options.labels
    labels = replace(labels, offset=labels.offset + cell.built_objective().shift)
    return relabelled(sender, labels, read_plan(cell.receiver).classes)


def forget() -> None:
    """Stores and networks that are held open: for whoever makes them anew in one process."""
    opened.cache_clear()
    receiving.cache_clear()


@lru_cache(4)
def opened(model: str, seed: int, dataset: str, mode: str) -> Store:
    return open_store(model, seed, dataset, mode)


@lru_cache(2)
def receiving(model: str, seed: int, data: str, mode: str) -> Cuttable:
    """A network, traced for inputs such as its store was made of."""
    recalibrated = data if kept(mode) == "recalibrated" else ""
    network = read_network(model, seed, torch.device("cpu"), recalibrated)
    opened(model, seed, data, kept(mode)).expect(weights=weights_digest(network))
    return Cuttable(network, read_plan(model).shape)


def painter(cell: Cell) -> nn.Module | None:
    """From the receiver's cut to the image it makes; nothing to do at its input, None where it makes none."""
    if cell.receiver_cut == INPUT:
        return nn.Identity()
    image = read_plan(cell.receiver).variant().image
    if not image:
        return None
    model = receiving(cell.receiver, cell.seed, cell.towards, cell.options.receiver_bn)
    return model.between(model.cut(cell.receiver_cut), model.cut(image))


def csv(rows: Iterable[dict[str, Any]]) -> str:
    """A table of cells: one row a cell and measure."""
    return pandas.DataFrame(rows, columns=[*KEYS, "measure", "value"]).to_csv(index=False)
