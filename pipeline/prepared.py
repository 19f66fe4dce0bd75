"""Prepared datasets: arrays in a fixed layout, whatever they came from.

DATASET/meta.json            classes, shape, normalisation, and digests of what lies beside it
DATASET/train/inputs.npy     N × C × H × W bytes; likewise test/
DATASET/train/labels.npy
DATASET/train/ids.txt        one sample id a line
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pipeline.arrays import Labels
from pipeline.errors import DataError


@dataclass(frozen=True)
class SplitData:
    """One split, inputs mapped from disk."""

    inputs: np.ndarray
    labels: Labels
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: slice | np.ndarray, device: torch.device) -> Tensor:
        """Those inputs as a network takes them."""
        return normalise(torch.from_numpy(np.array(self.inputs[rows])).to(device), self.mean, self.std)


@dataclass(frozen=True)
class Prepared:
    name: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    digest: str  # of inputs, labels, ids and normalisation
    samples: dict[str, str]  # digest of the ordered ids, by split
    splits: dict[str, SplitData]


def normalise(pixels: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """Bytes as a network takes them: (x / 255 - mean) / std, by channel."""
    scale = torch.tensor(std, device=pixels.device).view(-1, 1, 1) * 255
    shift = torch.tensor(mean, device=pixels.device).view(-1, 1, 1) * 255
    return (pixels.float() - shift) / scale


def read_prepared(folder: Path) -> Prepared:
    """The dataset in `folder`, its inputs mapped and not loaded."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
    except FileNotFoundError as error:
        raise DataError(f"{folder}: is not a prepared dataset; run dvc repro, or dvc pull") from error
    splits = {
        split: SplitData(
            np.load(folder / split / "inputs.npy", mmap_mode="r"),
            np.load(folder / split / "labels.npy"),
            tuple(meta["mean"]),
            tuple(meta["std"]),
        )
        for split in meta["samples"]
    }
    return Prepared(meta["name"], tuple(meta["classes"]), tuple(meta["shape"]), meta["digest"], meta["samples"], splits)
