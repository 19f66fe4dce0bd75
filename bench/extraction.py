"""Extraction against its two limits: the bare forward pass, and writing as many bytes to .npy files."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bench.memory import give_memory_back
from bench.networks import identity, images, resnet18, torchvision_resnet18
from bench.ratios import Contender, Row, nothing, ratio_row, side_by_side
from bench.sizes import Sizes
from pipeline.cutting import Cut, Cuttable
from pipeline.prepared import Prepared
from pipeline.stages.extract import extract
from pipeline.store import Spec, StoreWriter
from pipeline.system import keep_memory

CPU = torch.device("cpu")
WORK = Path("extraction")
KEPT = "forward, memory kept"
TURNS = 2  # times as many as elsewhere: writing takes up to five times as long where the system's memory is cold


def rows(sizes: Sizes) -> Iterator[Row]:
    """All legal cuts and the eight blocks, of our ResNet-18 and of torchvision's."""
    ours, theirs = images(sizes.images, sizes.image), images(sizes.large_images, sizes.large_image)
    turns = TURNS * sizes.repetitions
    yield from _network("ResNet-18", resnet18(sizes.width, sizes.image), ours, sizes.batch, turns)
    yield from _network("torchvision's resnet18", torchvision_resnet18(), theirs, sizes.large_batch, turns)


def _network(name: str, network: nn.Module, data: Prepared, batch: int, turns: int) -> Iterator[Row]:
    samples, side = len(data.splits["test"]), data.shape[-1]
    model = Cuttable(network, data.shape)
    wanted = {"legal cuts": model.cuts, "blocks": model.select("bench", ["layer?.?"])}
    contenders = {
        "forward": Contender(lambda: forward(network, data, batch), nothing),
        KEPT: Contender(lambda: (keep_memory(), forward(network, data, batch)), give_memory_back),
    }
    for kind, cuts in wanted.items():
        contenders[f"{kind} .npy"] = Contender(partial(write_npy, cuts, samples, batch), clear)
        contenders[kind] = Contender(partial(write_store, model, cuts, data, batch), clear)
    times = side_by_side(contenders, turns)
    for kind, cuts in wanted.items():
        label, size = f"{name} at {side}×{side}, {len(cuts)} {kind}", 4 * samples * sum(cut.size for cut in cuts)
        yield ratio_row("extraction", label, times, kind, ["forward", f"{kind} .npy"], size, 0.9)
        yield ratio_row("extraction", f"{label}, memory kept by both", times, kind, [KEPT, f"{kind} .npy"], size, None)


def clear() -> None:
    shutil.rmtree(WORK)
    give_memory_back()


def forward(network: nn.Module, data: Prepared, batch: int) -> None:
    """The pass that any extraction has to make."""
    split = data.splits["test"]
    with torch.inference_mode():
        for first in range(0, len(split), batch):
            network(split.batch(slice(first, first + batch), CPU))


def write_store(model: Cuttable, cuts: Sequence[Cut], data: Prepared, batch: int) -> None:
    """What the stage does, up to the finished store."""
    specs = [Spec(split, cut.name, len(rows), cut.shape) for split, rows in data.splits.items() for cut in cuts]
    writer = StoreWriter(WORK / "scratch", identity("raw"), specs)
    extract(model, cuts, data, batch, writer, WORK, CPU)
    writer.finish({split: rows.labels for split, rows in data.splits.items()}, WORK / "store")


def write_npy(cuts: Sequence[Cut], samples: int, batch: int) -> None:
    """As many bytes, batch by batch, one file a cut, from memory that is there already."""
    WORK.mkdir()
    full = {cut: _block(min(batch, samples), cut) for cut in cuts}
    with ExitStack() as stack:
        files = {cut: stack.enter_context((WORK / f"{cut.name}.npy").open("wb")) for cut in cuts}
        for cut, file in files.items():
            header = {"descr": "<f4", "fortran_order": False, "shape": (samples, *cut.shape)}
            np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, samples, batch):
            for cut, file in files.items():
                full[cut][: samples - first].tofile(file)


def _block(batch: int, cut: Cut) -> np.ndarray:
    return np.ones((batch, *cut.shape), np.float32)
