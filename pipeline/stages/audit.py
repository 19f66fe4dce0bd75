"""Stitched representations → what can be said of them beside their accuracy: ranks, so far.

Ranks are taken of what the receiver's first layer makes of the stitched activations, on the test split, and
of what it makes of the receiver's own.
"""

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Activations, Spectrum
from pipeline.atomic import write_text
from pipeline.devices import choose
from pipeline.norms import expect, statistics
from pipeline.params import Labelling, Params
from pipeline.progress import progress
from pipeline.ranks import RANKS
from pipeline.ranks.base import Rank
from pipeline.reading import tensor
from pipeline.registry import build
from pipeline.relabelling import relabelled
from pipeline.spectra import spectrum
from pipeline.stages.cells import KEYS, Cell, cells, csv, kept, own_activations, receiving, receiving_store
from pipeline.stages.making import TEST_BATCH, loaded


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    ranks = {name: build(f"ranks.{name}", RANKS, name, options) for name, options in params.ranks.items()}
    tasks = cells(params, sender, receiver, seed)
    rows = [row for task in progress(tasks, len(tasks), f"audit {sender}", "cells") for row in audit(task, ranks)]
    write_text(paths.audit(sender, receiver, seed), csv(rows))


def audit(cell: Cell, ranks: dict[str, Rank]) -> Iterator[dict[str, Any]]:
    spectra = {"": _seen(cell), "receiver_": _own(cell)}
    for name, rank in ranks.items():
        for prefix, values in spectra.items():
            yield {**dict(zip(KEYS, cell.names(), strict=True)), "measure": prefix + name, "value": rank(values)}


def _seen(cell: Cell) -> Spectrum:
    """Of what the receiver's first layer makes of what the stitch gives it."""
    device = choose(cell.device)
    parts = loaded(cell, device)
    model = receiving(cell.receiver, cell.seed, cell.towards, cell.options.receiver_bn)
    layer = model.first_layer(model.cut(cell.receiver_cut))
    if cell.options.receiver_bn == "batch":
        layer = copy.deepcopy(layer)
        expect(layer, statistics(parts.tail))
    return spectrum(through(nn.Sequential(parts.stitch, layer), parts.given(cell, device), device))


def _own(cell: Cell) -> Spectrum:
    """Of what the receiver's first layer makes of its own activations."""
    mode, device = cell.options.receiver_bn, choose(cell.device)
    classes = cell.options.labels.classes if cell.towards == cell.data else None
    at = cell.receiver, cell.seed, cell.towards, cell.receiver_cut, mode
    return receiver_spectrum(*at, classes, device, receiving_store(cell).digest)


@lru_cache
def receiver_spectrum(
    receiver: str, seed: int, data: str, cut: str, mode: str, classes: int | None, device: torch.device, digest: str
) -> Spectrum:
    """On the samples of the first so many classes, like the cells'; every sender's cells ask for it.

    `digest` is of the activations: made anew, they have a spectrum of their own.
    """
    model = receiving(receiver, seed, data, mode)
    own = relabelled(own_activations(receiver, seed, data, kept(mode)), Labelling(classes, 0, None), 0)
    return spectrum(through(model.first_layer(model.cut(cut)), own.rows("test", cut), device))


@torch.inference_mode()
def through(module: nn.Module, rows: Activations, place: torch.device) -> np.ndarray:
    """What `module` makes of all rows."""
    module = module.to(place)
    samples = rows.shape[0]
    outputs = [
        module(tensor(rows.read(start, min(start + TEST_BATCH, samples)), place)).cpu().numpy()
        for start in range(0, samples, TEST_BATCH)
    ]
    return np.concatenate(outputs)
