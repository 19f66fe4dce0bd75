"""Stitched representations → what can be said of them beside their accuracy: ranks, so far.

Ranks are taken of what the receiver's first layer makes of the stitched activations, on the test split, and
of what it makes of the receiver's own.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Activations, Spectrum
from pipeline.atomic import write_text
from pipeline.devices import choose
from pipeline.params import Params
from pipeline.progress import progress
from pipeline.ranks import RANKS
from pipeline.ranks.base import Rank
from pipeline.reading import tensor
from pipeline.registry import build
from pipeline.spectra import spectrum
from pipeline.stages.cells import KEYS, TEST_BATCH, Cell, cells, receiving
from pipeline.store import open_store
from pipeline.weights import load_weights


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    ranks = {name: build(f"ranks.{name}", RANKS, name, options) for name, options in params.ranks.items()}
    tasks = cells(params, sender, receiver, seed)
    rows = [row for task in progress(tasks, len(tasks), f"audit {sender}", "cells") for row in audit(task, ranks)]
    write_text(paths.audit(sender, receiver, seed), pandas.DataFrame(rows).to_csv(index=False))


def audit(cell: Cell, ranks: dict[str, Rank]) -> Iterator[dict[str, Any]]:
    stitch = cell.stitch()
    load_weights(stitch, paths.stitches(cell.sender, cell.receiver, cell.seed) / cell.file)
    sender, _ = cell.stores()
    spectra = {
        "": _seen(cell, stitch.eval(), sender.rows("test", cell.sender_cut)),
        "receiver_": receiver_spectrum(cell.receiver, cell.seed, cell.data, cell.receiver_cut, cell.device),
    }
    for name, rank in ranks.items():
        for prefix, values in spectra.items():
            yield {**dict(zip(KEYS, cell.names(), strict=True)), "measure": prefix + name, "value": rank(values)}


def _seen(cell: Cell, stitch: nn.Module, rows: Activations) -> Spectrum:
    model = receiving(cell.receiver, cell.seed, cell.data)
    return spectrum(through(nn.Sequential(stitch, model.first_layer(model.cut(cell.receiver_cut))), rows, cell.device))


@lru_cache
def receiver_spectrum(receiver: str, seed: int, data: str, cut: str, device: str) -> Spectrum:
    """Of what the receiver's first layer makes of its own activations."""
    model, store = receiving(receiver, seed, data), open_store(receiver, seed, data)
    return spectrum(through(model.first_layer(model.cut(cut)), store.rows("test", cut), device))


@torch.inference_mode()
def through(module: nn.Module, rows: Activations, device: str) -> np.ndarray:
    """What `module` makes of all rows."""
    place = choose(device)
    module = module.to(place)
    samples = rows.shape[0]
    outputs = [
        module(tensor(rows.read(start, min(start + TEST_BATCH, samples)), place)).cpu().numpy()
        for start in range(0, samples, TEST_BATCH)
    ]
    return np.concatenate(outputs)
