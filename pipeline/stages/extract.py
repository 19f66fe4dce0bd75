"""A network and a dataset → a store of its activations at every cut asked for, both splits in one pass.

Beside it lie the statistics that its BatchNorms would have on that dataset, and how well the whole network
classifies it with its own statistics and with those.
"""

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas
import torch
from torch import Tensor, nn

from pipeline import paths
from pipeline.arrays import Labels, first_classes
from pipeline.atomic import digest, replacing, write_text
from pipeline.behind import Behind
from pipeline.capture import capture
from pipeline.chunking import Bill, bill
from pipeline.cutting import Cut, Cuttable
from pipeline.devices import choose
from pipeline.errors import ResourceError
from pipeline.imports import closure, code_digest
from pipeline.networks import answers, read_network, read_plan
from pipeline.norms import recalibrated, statistics
from pipeline.params import Extraction, Params, Stitching
from pipeline.prepared import Prepared, read_prepared
from pipeline.progress import progress
from pipeline.randomness import generator
from pipeline.store import Identity, Spec, StoreWriter
from pipeline.system import keep_memory
from pipeline.weights import save_tensors, weights_digest

log = logging.getLogger(__name__)

RECALIBRATION = 256  # images of a batch, at most; their statistics depend on it, so that it is no setting
MEASURES = {"eval": "accuracy", "recalibrated": "recalibrated_accuracy"}


def run(params: Params, name: str, seed: int, dataset: str) -> None:
    device, data = choose(params.machine.device), read_prepared(paths.dataset(dataset))
    used = params.stitch.labels.classes if dataset == params.stitch.data else None
    network = read_network(name, seed, device)
    networks = {"eval": network, "recalibrated": recalibrated(network, inputs(data, device, used))}
    save_tensors(statistics(networks["recalibrated"].cpu()), paths.statistics(name, seed, dataset))
    identity = Identity(name, seed, dataset, "", data.digest, data.samples, params.extract.layout, params.extract.dtype)
    function, rows = read_plan(name).function, []
    for mode in modes(params.stitch):
        destination = paths.store(name, seed, dataset, mode)
        found = store(
            networks[mode], function, identity, data, params.extract, params.machine.memory_gb, destination, device
        )
        rows += accuracies(MEASURES[mode], found["test"], data)
    if MEASURES["recalibrated"] not in dict(rows):
        found = answers(networks["recalibrated"].to(device), data.splits["test"], device)
        rows += accuracies(MEASURES["recalibrated"], found, data)
    rows += sizes(data)
    facts = {"model": name, "seed": seed, "data": dataset}
    table = pandas.DataFrame([{**facts, "measure": measure, "value": value} for measure, value in rows])
    write_text(paths.unstitched(name, seed, dataset), table.to_csv(index=False))


def accuracies(measure: str, answers: Labels, data: Prepared) -> Iterator[tuple[str, float]]:
    """On all test images, then on those of the first 2, 3, ... classes: what a stitch of so many is held against."""
    labels = data.splits["test"].labels
    right = answers == labels
    yield measure, float(right.mean())
    for count in range(2, len(data.classes) + 1):
        if (labels < count).any():
            yield first_classes(measure, count), float(right[labels < count].mean())


def sizes(data: Prepared) -> Iterator[tuple[str, float]]:
    """How many images those accuracies are of."""
    labels = data.splits["test"].labels
    yield "samples", float(len(labels))
    for count in range(2, len(data.classes) + 1):
        if (labels < count).any():
            yield first_classes("samples", count), float((labels < count).sum())


def modes(stitch: Stitching) -> list[str]:
    """Whose statistics the stored activations go by; those by batches are recalibrated ones where they must lie still.

    Networks as they are, always: similarities are theirs.
    """
    return ["eval"] + ["recalibrated"] * ({stitch.sender_bn, stitch.receiver_bn} != {"eval"})


def inputs(data: Prepared, device: torch.device, classes: int | None) -> Iterator[Tensor]:
    """Of the training split, all that stitches see of it, in batches that mix classes; no image comes alone."""
    rows = data.splits["train"]
    order = generator(0, "recalibration", data.digest).permutation(len(rows))
    order = order[rows.labels[order] < (classes or len(data.classes))]
    parts = np.array_split(order, -(-len(order) // RECALIBRATION))
    for part in progress(parts, len(parts), f"recalibrating on {data.name}", "batches"):
        yield rows.batch(np.sort(part), device)


def store(
    network: nn.Module,
    function: str,
    identity: Identity,
    data: Prepared,
    options: Extraction,
    memory_gb: float,
    destination: Path,
    device: torch.device,
) -> dict[str, np.ndarray]:
    """Makes the network's store, under the digest of what it does with its weights; its answers by split."""
    identity = replace(identity, weights=weights_digest(network))
    model = Cuttable(network.cpu(), data.shape)
    cuts = model.select("extract.cuts", options.cuts)
    specs = [Spec(split, cut.name, len(rows), cut.shape) for split, rows in data.splits.items() for cut in cuts]
    made_from = digest(function, vars(identity), [vars(spec) for spec in specs], options.batch, _code())
    scratch = paths.scratch("extract", made_from)
    present(total_bill(specs, options), scratch, memory_gb)
    writer = StoreWriter(scratch / "store", identity, specs)
    found = extract(model, cuts, data, options.batch, writer, scratch, device)
    found = {split: np.array(given) for split, given in found.items()}  # off the files that go now
    writer.finish({split: rows.labels for split, rows in data.splits.items()}, destination)
    shutil.rmtree(scratch)
    return found


def _code() -> str:
    return code_digest(closure(__name__))


def extract(
    model: Cuttable,
    cuts: Sequence[Cut],
    data: Prepared,
    batch: int,
    writer: StoreWriter,
    scratch: Path,
    device: torch.device,
) -> dict[str, np.ndarray]:
    """Fills the store, from the first row an earlier attempt did not finish; the network's answers by split."""
    keep_memory()
    taps = model.taps(cuts).to(device)
    found = {}
    for split, rows in data.splits.items():
        start = writer.resume_at(split, batch)
        found[split] = _answers(scratch / f"{split}.npy", len(rows))
        batches = capture(taps, cuts, rows, batch, start, device)
        steps = progress(batches, -(-len(rows) // batch), f"{data.name} {split}", "batches", start // batch)
        with Behind() as later:  # writing overlaps the next batch's forward pass
            for captured in steps:
                found[split][captured.start : captured.start + batch] = captured.logits.argmax(1).numpy()
                later(writer.write, split, captured.start, captured.activations)
    return found


def _answers(path: Path, samples: int) -> np.ndarray:
    """Kept on disk, so that a resumed extraction has those of the rows it does not run again."""
    if path.exists():
        return np.load(path, mmap_mode="r+")
    with replacing(path) as temporary:
        np.lib.format.open_memmap(temporary, "w+", np.int64, (samples,)).flush()
    return np.load(path, mmap_mode="r+")


def total_bill(specs: Sequence[Spec], options: Extraction) -> Bill:
    itemsize = np.dtype(options.dtype).itemsize
    bills = [bill(options.layout, spec.samples, spec.size * itemsize, options.batch) for spec in specs]
    return reduce(add, bills)


def present(cost: Bill, scratch: Path, memory_gb: float) -> None:
    """Shows the bill, and refuses what disk or memory cannot hold, before the first forward pass."""
    scratch.mkdir(parents=True, exist_ok=True)
    there = sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file())
    free = shutil.disk_usage(scratch).free + there
    log.info("bill: %s in %d files, %s of memory; %s free", gb(cost.bytes), cost.files, gb(cost.memory), gb(free))
    if cost.bytes > free:
        raise ResourceError(
            f"extract: needs {gb(cost.bytes)} of disk; {gb(free)} are free: extract fewer cuts or in float16"
        )
    if cost.memory > memory_gb * 1e9:
        raise ResourceError(
            f"extract: needs {gb(cost.memory)} of memory; machine.memory_gb gives {memory_gb:g}: lower extract.batch"
        )


def gb(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
