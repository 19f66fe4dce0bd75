"""A network and a dataset → a store of its activations at every cut asked for, both splits in one pass."""

import logging
import shutil
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas
import torch

from pipeline import paths
from pipeline.atomic import digest, replacing, write_text
from pipeline.behind import Behind
from pipeline.capture import capture
from pipeline.chunking import Bill, bill
from pipeline.cutting import Cut, Cuttable
from pipeline.devices import choose
from pipeline.errors import ResourceError
from pipeline.imports import closure, code_digest
from pipeline.networks import read_network
from pipeline.params import Extraction, Params
from pipeline.prepared import Prepared, read_prepared
from pipeline.progress import progress
from pipeline.store import Identity, Spec, StoreWriter
from pipeline.system import keep_memory
from pipeline.weights import weights_digest

log = logging.getLogger(__name__)


def run(params: Params, name: str, seed: int, dataset: str) -> None:
    options, device = params.extract, choose(params.machine.device)
    network, data = read_network(name, seed, device), read_prepared(paths.dataset(dataset))
    identity = Identity(
        name, seed, dataset, weights_digest(network), data.digest, data.samples, options.layout, options.dtype
    )
    model = Cuttable(network.cpu(), data.shape)
    cuts = model.select("extract.cuts", options.cuts)
    specs = [Spec(split, cut.name, len(rows), cut.shape) for split, rows in data.splits.items() for cut in cuts]
    scratch = paths.scratch("extract", digest(vars(identity), [vars(spec) for spec in specs], options.batch, _code()))
    present(total_bill(specs, options), scratch, params.machine.memory_gb)
    writer = StoreWriter(scratch / "store", identity, specs)
    answers = extract(model, cuts, data, options.batch, writer, scratch, device)
    writer.finish({split: rows.labels for split, rows in data.splits.items()}, paths.activations(name, seed, dataset))
    accuracy = float((answers["test"] == data.splits["test"].labels).mean())
    rows = [{"model": name, "seed": seed, "data": dataset, "measure": "accuracy", "value": accuracy}]
    write_text(paths.unstitched(name, seed, dataset), pandas.DataFrame(rows).to_csv(index=False))
    shutil.rmtree(scratch)


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
    answers = {}
    for split, rows in data.splits.items():
        start = writer.resume_at(split, batch)
        answers[split] = _answers(scratch / f"{split}.npy", len(rows))
        batches = capture(taps, cuts, rows, batch, start, device)
        steps = progress(batches, -(-len(rows) // batch), f"{data.name} {split}", "batches", start // batch)
        with Behind() as later:  # writing overlaps the next batch's forward pass
            for captured in steps:
                answers[split][captured.start : captured.start + batch] = captured.logits.argmax(1).numpy()
                later(writer.write, split, captured.start, captured.activations)
    return answers


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
