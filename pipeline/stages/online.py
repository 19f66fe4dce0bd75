"""A sender that runs beside the stitch, instead of being read from its store."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import fx, nn

from pipeline import paths
from pipeline.arrays import Labels, Rows, Shape
from pipeline.norms import live
from pipeline.prepared import SplitData, read_prepared
from pipeline.rows import Picked
from pipeline.stages.cells import Cell
from pipeline.training import Batch, Feed


@dataclass(frozen=True)
class Online:
    """Activations that are computed when they are read."""

    front: nn.Module
    images: SplitData
    numbers: np.ndarray
    device: torch.device
    row: Shape

    @property
    def shape(self) -> Shape:
        return len(self.numbers), *self.row

    def read(self, start: int, stop: int) -> Rows:
        return self.take(np.arange(start, stop))

    @torch.inference_mode()
    def take(self, indices: np.ndarray) -> Rows:
        return self.front(self.images.batch(self.numbers[indices], self.device)).cpu().numpy()


def online_feed(cell: Cell, front: fx.GraphModule, labels: Labels, device: torch.device) -> Feed:
    """Batches through the sender, whose BatchNorms take each batch's statistics and remember them."""
    images = read_prepared(paths.dataset(cell.data)).splits["train"]
    numbers = numbers_of(cell, "train")
    answers = torch.from_numpy(labels).to(device)
    live(front, True, cell.options.dropout)

    @torch.no_grad()
    def fetch(at: np.ndarray, random: np.random.Generator) -> Batch:
        return front(images.batch(numbers[at], device)), answers[at]

    return Feed(len(labels), fetch)


def numbers_of(cell: Cell, split: str) -> np.ndarray:
    """Of the images that the study's labelling keeps."""
    rows = cell.source().rows(split, cell.sender_cut)
    return rows.numbers if isinstance(rows, Picked) else np.arange(rows.shape[0])
