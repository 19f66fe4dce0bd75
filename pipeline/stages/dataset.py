"""Raw files or an embedded source → prepared inputs, labels and sample ids."""

import hashlib
import shutil
from pathlib import Path

import numpy as np

from pipeline import paths
from pipeline.atomic import appear, digest, write_json, write_text
from pipeline.datasets import DATASETS
from pipeline.datasets.base import SPLITS, Dataset, Labelled
from pipeline.errors import DataError
from pipeline.params import Params
from pipeline.progress import progress
from pipeline.registry import build_kind

BLOCK = 512  # images decoded at once


def run(params: Params, name: str) -> None:
    dataset: Dataset = build_kind(f"datasets.{name}", DATASETS, params.datasets[name])
    root = paths.data_root(params.root, params.data.root)
    prepare(name, dataset, root, params.seed, paths.scratch("dataset", name), paths.dataset(name))


def prepare(name: str, dataset: Dataset, root: Path, seed: int, scratch: Path, destination: Path) -> None:
    """Writes the prepared dataset; see `pipeline.prepared` for its layout."""
    shutil.rmtree(scratch, ignore_errors=True)
    splits = {split: dataset.load(root, split, seed) for split in SPLITS}
    contents = {split: _write_split(scratch / split, name, split, labelled) for split, labelled in splits.items()}
    scale, classes = dataset.normalisation(), list(dataset.classes(root))
    meta = {
        "name": name,
        "classes": classes,
        "shape": list(dataset.shape()),
        "mean": list(scale.mean),
        "std": list(scale.std),
        "samples": {split: digest(list(labelled.ids)) for split, labelled in splits.items()},
    }
    write_json(scratch / "meta.json", {**meta, "digest": digest(contents, meta)})
    appear(scratch, destination)


def _write_split(folder: Path, name: str, split: str, labelled: Labelled) -> list[str]:
    """Digests of the inputs and labels written."""
    shape, ids = labelled.pixels.shape, labelled.ids
    if not shape[0] == len(labelled.labels) == len(ids) == len(set(ids)):
        raise DataError(
            f"datasets.{name}: its {split} split has {shape[0]} images, {len(labelled.labels)} labels and "
            f"{len(set(ids))} different ids; they should be as many"
        )
    folder.mkdir(parents=True)
    inputs = np.lib.format.open_memmap(folder / "inputs.npy", "w+", np.uint8, tuple(shape))
    total = hashlib.sha256()
    for start in progress(range(0, shape[0], BLOCK), -(-shape[0] // BLOCK), f"{name} {split}", "blocks"):
        block = np.ascontiguousarray(labelled.pixels[start : start + BLOCK], np.uint8)
        inputs[start : start + BLOCK] = block
        total.update(block.data)
    inputs.flush()
    np.save(folder / "labels.npy", labelled.labels.astype(np.int64))
    write_text(folder / "ids.txt", "".join(f"{sample}\n" for sample in ids))
    return [total.hexdigest(), hashlib.sha256(labelled.labels.astype(np.int64).tobytes()).hexdigest()]
