"""Stitched representations → what can be said of them beside their accuracy: ranks, and how far they lie outside.

Ranks are taken of what the receiver's first layer makes of the stitched activations, on the test split, and
of what it makes of the receiver's own. The receiver's detectors score the stitched activations themselves.
"""

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Activations, Held, Spectrum
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
from pipeline.stages.detecting import Judges
from pipeline.stages.making import TEST_BATCH, Parts, loaded


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    ranks = {name: build(f"ranks.{name}", RANKS, name, options) for name, options in params.ranks.items()}
    tasks, judges = cells(params, sender, receiver, seed), Judges(params, receiver, seed)
    audited = progress(tasks, len(tasks), f"audit {sender}", "cells")
    write_text(paths.audit(sender, receiver, seed), csv(row for task in audited for row in audit(task, ranks, judges)))


def audit(cell: Cell, ranks: dict[str, Rank], judges: Judges) -> Iterator[dict[str, Any]]:
    device = choose(cell.device)
    parts = loaded(cell, device)
    stitched = Held(through(parts.stitch, parts.given(cell, device), device))
    spectra = {"": _seen(cell, parts, stitched, device), "receiver_": _own(cell)}
    measures = [(prefix + name, rank(values)) for name, rank in ranks.items() for prefix, values in spectra.items()]
    for measure, value in [*measures, *judges.measures(cell.receiver_cut, stitched)]:
        yield {**dict(zip(KEYS, cell.names(), strict=True)), "measure": measure, "value": value}


def _seen(cell: Cell, parts: Parts, stitched: Activations, device: torch.device) -> Spectrum:
    """Of what the receiver's first layer makes of what the stitch gives it."""
    model = receiving(cell.receiver, cell.seed, cell.towards, cell.options.receiver_bn)
    layer = model.first_layer(model.cut(cell.receiver_cut))
    if cell.options.receiver_bn == "batch":
        layer = copy.deepcopy(layer)
        expect(layer, statistics(parts.tail))
    return spectrum(through(layer, stitched, device))


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
