"""Cells: one stitch between one pair of cuts, the unit of work of stitching.

A cell is keyed by all that decides its result (params, stores, weights, code), and its result lies under
that key outside of DVC's outputs. So a killed grid goes on with the cell it was at, and a grown one runs its
new cells only.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from pipeline import paths
from pipeline.arrays import Activations, Labels
from pipeline.atomic import digest, write_json
from pipeline.cutting import Cuttable
from pipeline.devices import choose
from pipeline.errors import ParamsError, StoreError
from pipeline.folding import folded
from pipeline.imports import closure, code_digest
from pipeline.networks import read_network, read_plan
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Joint, Loss, Objective
from pipeline.params import Params, Stitching
from pipeline.randomness import seed_for, seeded
from pipeline.reading import batches_of, tensor
from pipeline.registry import build
from pipeline.stitches import STITCHES
from pipeline.stitches.base import Stitch
from pipeline.store import Store, open_store
from pipeline.training import fit
from pipeline.weights import save_weights, weights_digest

TEST_BATCH = 512
KEYS = ["sender", "receiver", "seed", "data", "sender_cut", "receiver_cut", "map", "objective"]


@dataclass(frozen=True)
class Cell:
    """Everything a worker needs to make this cell, and nothing that could differ between workers."""

    sender: str
    receiver: str
    seed: int
    data: str
    sender_cut: str
    receiver_cut: str
    map: str
    map_options: dict[str, Any]
    objective: str
    objective_options: dict[str, Any]
    recipe: Stitching
    root_seed: int
    device: str
    memory: int
    origin: str  # digest of the stores, weights and code it is made from

    @property
    def key(self) -> str:
        facts = asdict(self)
        return digest({name: fact for name, fact in facts.items() if name not in ("device", "memory")})

    @property
    def folder(self) -> Path:
        return paths.scratch("stitch", self.key)

    @property
    def file(self) -> str:
        return f"{self.objective}--{self.sender_cut}--{self.receiver_cut}.safetensors"

    def stitch(self) -> nn.Module:
        """A fresh stitch of the right shape, initialised from the names alone."""
        variant: Stitch = build(f"stitches.{self.map}", STITCHES, self.map, self.map_options)
        sender, receiver = self.stores()
        source, target = sender.shape(self.sender_cut), receiver.shape(self.receiver_cut)
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

    def stores(self) -> tuple[Store, Store]:
        return _store(self.sender, self.seed, self.data), _store(self.receiver, self.seed, self.data)


@lru_cache(2)
def _store(model: str, seed: int, dataset: str) -> Store:
    return open_store(model, seed, dataset)


@lru_cache(1)
def receiving(model: str, seed: int, data: str) -> Cuttable:
    """The receiver, traced for inputs such as its store was made of."""
    network = read_network(model, seed, torch.device("cpu"))
    store = _store(model, seed, data)
    store.expect(weights=weights_digest(network))
    return Cuttable(network, read_plan(model).shape)


def cells(params: Params, sender: str, receiver: str, seed: int) -> list[Cell]:
    """All cells of the pair, in the order of cuts, then objectives; each known to be joinable."""
    options = params.stitch
    stores = _store(sender, seed, options.data), _store(receiver, seed, options.data)
    pairs = matched(*stores, options.pairs)
    origins = {name: _origin(stores, options.map, name) for name in params.objectives}
    device, memory = params.machine.device, int(params.machine.memory_gb * 1e9 / params.machine.slots / 2)
    planned = [
        Cell(sender, receiver, seed, options.data, source, target, options.map, params.stitches[options.map],
             name, params.objectives[name], options, params.seed, device, memory, origins[name])
        for source, target in pairs for name in params.objectives
    ]  # fmt: skip
    for cell in planned:
        cell.stitch()
    return planned


def _origin(stores: tuple[Store, Store], kind: str, objective: str) -> str:
    """Digest of the stores (and so of the weights) and of the code that a cell's numbers come from."""
    modules = [__name__, STITCHES[kind].partition(":")[0], OBJECTIVES[objective].partition(":")[0]]
    return digest([store.digest for store in stores], code_digest(closure(*modules)))


def matched(sender: Store, receiver: Store, pairs: str) -> Sequence[tuple[str, str]]:
    """Pairs of a sender's cut and a receiver's."""
    for field in ("inputs", "samples"):
        receiver.expect(**{field: getattr(sender.identity, field)})
    if pairs == "all":
        return [(source, target) for source in sender.cuts for target in receiver.cuts]
    same = [(cut, cut) for cut in sender.cuts if cut in receiver.cuts]
    if not same:
        raise StoreError(f"{sender.folder}: has no cut of the name of one of {receiver.folder}; use stitch.pairs: all")
    return same


def make(cell: Cell) -> None:
    """Trains and tests the cell's stitch, and leaves both under its key."""
    device = choose(cell.device)
    sender, receiver = cell.stores()
    objective: Objective = build(f"objectives.{cell.objective}", OBJECTIVES, cell.objective, cell.objective_options)
    source, target = sender.rows("train", cell.sender_cut), receiver.rows("train", cell.receiver_cut)
    model = receiving(cell.receiver, cell.seed, cell.data)
    tail = model.tail(model.cut(cell.receiver_cut)).requires_grad_(False).to(device)
    feed = batches_of(source, sender.labels("train"), cell.memory, device)
    seed = seed_for(cell.root_seed, "stitching", *cell.names())
    label = f"{cell.sender} {cell.sender_cut} {cell.objective}"

    def descend(module: nn.Module, loss: Loss) -> None:
        fit(module, loss, feed, cell.recipe, seed, label)

    stitch = objective.fit(cell.stitch().to(device), Joint(source, target, folded(tail), device), descend)
    scores = test(stitch, tail, sender.rows("test", cell.sender_cut), sender.labels("test"), device)
    save_weights(stitch.cpu(), cell.folder / cell.file)
    write_json(cell.folder / "scores.json", scores)  # last: a cell with scores is done


def done(cell: Cell) -> bool:
    return (cell.folder / "scores.json").exists()


@torch.inference_mode()
def test(
    stitch: nn.Module, tail: nn.Module, rows: Activations, labels: Labels, device: torch.device
) -> dict[str, float]:
    """Accuracy and mean cross-entropy of the stitched network."""
    right, loss = 0, 0.0
    for start in range(0, rows.shape[0], TEST_BATCH):
        stop = min(start + TEST_BATCH, rows.shape[0])
        logits = tail(stitch(tensor(rows.read(start, stop), device)))
        wanted = torch.from_numpy(labels[start:stop]).to(device)
        right += int((logits.argmax(1) == wanted).sum())
        loss += float(cross_entropy(logits, wanted, reduction="sum"))
    return {"accuracy": right / rows.shape[0], "loss": loss / rows.shape[0]}
