"""Stitched representations → what can be said of them beside their accuracy: ranks, distance, how far they lie outside.

Ranks are taken of what the receiver's first layer makes of the stitched activations, on the test split, and
of what it makes of the receiver's own; where params ask for it, of the activations at the cut themselves as well.
The receiver's detectors score the stitched activations themselves.
"""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import torch

from pipeline import paths
from pipeline.arrays import Activations, Spectrum
from pipeline.atomic import appear, write_text
from pipeline.devices import choose
from pipeline.norms import expect, statistics
from pipeline.params import Auditing, Detection, Labelling, Params
from pipeline.progress import progress
from pipeline.ranks import RANKS
from pipeline.ranks.base import Rank
from pipeline.registry import build
from pipeline.relabelling import relabelled
from pipeline.spectra import spectrum
from pipeline.stages.cells import KEYS, Cell, csv, kept, own_activations, receiving, receiving_store
from pipeline.stages.gathering import gathering
from pipeline.stages.grid import cells
from pipeline.stages.judging import Judged, Judges, bars, measures
from pipeline.stages.making import Parts, loaded
from pipeline.stages.passing import through
from pipeline.tables import HEIGHTS
from pipeline.weights import save_tensors


class Audit(NamedTuple):
    """Of one cell: what its detectors were told, and its other numbers."""

    cell: Cell
    numbers: list[tuple[str, float]]
    judged: list[Judged]
    spectra: dict[str, Spectrum]  # by what their ranks' names begin with


def run(params: Params, sender: str, receiver: str, seed: int) -> None:
    tasks = cells(params, sender, receiver, seed)
    audits = audited(progress(tasks, len(tasks), f"audit {sender}", "cells"), params, receiver, seed)
    folder = gathering("audit", sender, receiver, seed)
    write(audits, params.detection, folder, "rows.csv")
    appear(folder, paths.audit(sender, receiver, seed))
    write_text(paths.distances(sender, receiver, seed), csv(_distances(audits)))


def _distances(audits: Iterable[Audit]) -> Iterator[dict[str, Any]]:
    """By themselves: trials ask for them, and not again when a rank or a detector is added."""
    for cell, numbers, *_ in audits:
        for measure, value in numbers:
            if measure == "distance":
                yield {**dict(zip(KEYS, cell.names(), strict=True)), "measure": measure, "value": value}


def audited(tasks: Iterable[Cell], params: Params, receiver: str, seed: int) -> list[Audit]:
    ranks = {name: build(f"ranks.{name}", RANKS, name, options) for name, options in params.ranks.items()}
    judges = Judges(params, receiver, seed)
    pairs = (list(together) for _, together in groupby(tasks, key=_pair))
    return [_audited(cell, together, ranks, params.audit, judges) for together in pairs for cell in together]


def _pair(cell: Cell) -> tuple[str, str, str]:
    return cell.sender, cell.sender_cut, cell.receiver_cut


def write(audits: Iterable[Audit], options: Detection, folder: Path, numbers: str) -> None:
    """A row a cell and measure; a row a cell, detector and bin of its scores; and spectra, for any other rank."""
    rows, heights, spectra = [], [], {}
    for cell, values, judged, found in audits:
        key = dict(zip(KEYS, cell.names(), strict=True))
        values = [*values, *(row for each in judged for row in measures(each, options))]
        rows += [{**key, "measure": measure, "value": value} for measure, value in values]
        heights += [{**key, **bar} for each in judged for bar in bars(each)]
        place = f"{cell.sender}--{cell.objective}--{cell.sender_cut}--{cell.receiver_cut}"
        spectra |= {f"{place}--{of}spectrum": torch.from_numpy(values.copy()) for of, values in found.items()}
    write_text(folder / numbers, csv(rows))
    write_text(folder / "bars.csv", pandas.DataFrame(heights, columns=[*KEYS, *HEIGHTS]).to_csv(index=False))
    save_tensors(spectra, folder / "spectra.safetensors")


def _audited(cell: Cell, together: Sequence[Cell], ranks: dict[str, Rank], options: Auditing, judges: Judges) -> Audit:
    """`together` are all cells of its pair, one an objective."""
    device = choose(cell.device)
    parts, stitched = _stitched(cell, device)
    spectra = {"": _seen(cell, parts, stitched, device), "receiver_": _own(cell, at_cut=False)}
    if options.ranks_at_cut:
        spectra |= {"cut_": spectrum(stitched, cell.memory), "receiver_cut_": _own(cell, at_cut=True)}
    numbers = [(prefix + name, rank(values)) for name, rank in ranks.items() for prefix, values in spectra.items()]
    if cell.paired():
        own = cell.target().rows("test", cell.receiver_cut)
        numbers.append(("distance", distance(stitched, own, cell.memory // 2)))
    if options.errors:
        numbers += _errors(cell, stitched, together)
    return Audit(cell, numbers, judges(cell.receiver_cut, stitched, cell.paired()), spectra)


def _errors(cell: Cell, stitched: Activations, together: Sequence[Cell]) -> Iterator[tuple[str, float]]:
    """To the receiver's own activations, and to what the other objectives make of the same pair."""
    if cell.paired():
        yield "error", error(stitched, cell.target().rows("test", cell.receiver_cut), cell.memory // 2)
    for other in together:
        if other is not cell:
            _, others = _stitched(other, choose(other.device))
            yield f"error_{other.objective}", error(stitched, others, cell.memory // 2)


def _stitched(cell: Cell, device: torch.device) -> tuple[Parts, Activations]:
    parts = loaded(cell, device)
    return parts, through(parts.stitch, parts.given(cell, device), device, cell.memory)


def error(one: Activations, other: Activations, memory: int) -> float:
    """The mean squared difference over samples, features and places."""
    size = max(1, memory // (3 * 8 * int(np.prod(one.shape[1:]))))
    parts = (slice(start, min(start + size, one.shape[0])) for start in range(0, one.shape[0], size))
    apart = (one.read(part.start, part.stop).astype(np.float64) - other.read(part.start, part.stop) for part in parts)
    return sum(float(np.square(each).sum()) for each in apart) / int(np.prod(one.shape))


def distance(stitched: Activations, own: Activations, memory: int) -> float:
    """Between paired activations, squared and summed, over the own ones' around their mean.

    0 where they are the same; 1 is as far as giving their mean alone. Not a number where the own never vary.
    """
    samples = own.shape[0]
    size = max(1, memory // (4 * 8 * int(np.prod(own.shape[1:]))))
    parts = [slice(start, min(start + size, samples)) for start in range(0, samples, size)]
    mean = sum(own.read(part.start, part.stop).sum(0, dtype=np.float64) for part in parts) / samples
    apart, spread = 0.0, 0.0
    for part in parts:
        wanted = own.read(part.start, part.stop).astype(np.float64)
        apart += float(np.square(stitched.read(part.start, part.stop) - wanted).sum())
        spread += float(np.square(wanted - mean).sum())
    return apart / spread if spread else math.nan


def _seen(cell: Cell, parts: Parts, stitched: Activations, device: torch.device) -> Spectrum:
    """Of what the receiver's first layer makes of what the stitch gives it."""
    model = receiving(cell.receiver, cell.seed, cell.towards, cell.options.receiver_bn)
    layer = model.first_layer(model.cut(cell.receiver_cut))
    if cell.options.receiver_bn == "batch":
        layer = copy.deepcopy(layer)
        expect(layer, statistics(parts.tail))
    return spectrum(through(layer, stitched, device, cell.memory), cell.memory)


def _own(cell: Cell, at_cut: bool) -> Spectrum:
    """Of what the receiver's first layer makes of its own activations, or of these themselves."""
    mode, device = cell.options.receiver_bn, choose(cell.device)
    classes = cell.options.labels.classes if cell.towards == cell.data else None
    at = cell.receiver, cell.seed, cell.towards, cell.receiver_cut, mode
    return receiver_spectrum(*at, classes, at_cut, device, cell.memory, receiving_store(cell).digest)


@lru_cache
def receiver_spectrum(
    receiver: str,
    seed: int,
    data: str,
    cut: str,
    mode: str,
    classes: int | None,
    at_cut: bool,
    device: torch.device,
    memory: int,
    digest: str,
) -> Spectrum:
    """On the samples of the first so many classes, like the cells'; every sender's cells ask for it.

    `digest` is of the activations: made anew, they have a spectrum of their own.
    """
    own = relabelled(own_activations(receiver, seed, data, kept(mode)), Labelling(classes, 0, None), 0).rows(
        "test", cut
    )
    if at_cut:
        return spectrum(own, memory)
    model = receiving(receiver, seed, data, mode)
    return spectrum(through(model.first_layer(model.cut(cut)), own, device, memory), memory)
