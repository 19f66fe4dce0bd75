"""What a receiver has of its own: its store, and its inputs as it takes them."""

from dataclasses import dataclass

import numpy as np
import torch

from pipeline.arrays import Activations, Labels, Rows, Sender, Shape
from pipeline.cutting import INPUT
from pipeline.prepared import Prepared, SplitData

CPU = torch.device("cpu")


@dataclass(frozen=True)
class WithInput:
    """A store's cuts, and before them `input`."""

    store: Sender
    data: Prepared

    @property
    def digest(self) -> str:
        return self.store.digest

    @property
    def cuts(self) -> tuple[str, ...]:
        return self.store.cuts

    def shape(self, cut: str) -> Shape:
        return self.data.shape if cut == INPUT else self.store.shape(cut)

    def labels(self, split: str) -> Labels:
        return self.store.labels(split)

    def rows(self, split: str, cut: str) -> Activations:
        return Inputs(self.data.splits[split]) if cut == INPUT else self.store.rows(split, cut)


@dataclass(frozen=True)
class Inputs:
    """Images, normalised when they are read."""

    images: SplitData

    @property
    def shape(self) -> Shape:
        return self.images.inputs.shape

    def read(self, start: int, stop: int) -> Rows:
        return self.images.batch(slice(start, stop), CPU).numpy()

    def take(self, indices: np.ndarray) -> Rows:
        return self.images.batch(indices, CPU).numpy()
