"""What of a layer is compared: which of its numbers make a row, and how rows are prepared; all in float64."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from pipeline.arrays import Activations, Shape

Whole = Literal["flattened", "pooled"]  # one row a sample
Of = Literal["flattened", "positions", "pooled", "balogh2025"]
Prepared = Literal["centred", "cosine", "correlation"]

SPREAD = 1e-12  # of a row's length: what varies less is rounding noise


class LayerError(ValueError):
    """A layer that cannot be compared: which, by its place in the list it came in, and what is wrong with it."""

    def __init__(self, number: int, wrong: str) -> None:
        super().__init__(f"layer {number} {wrong}")
        self.number, self.wrong = number, wrong


def view_of_pair(of: Of, one: Shape, other: Shape) -> str | None:
    """In which view layers of these shapes (of one sample) are compared; None where they cannot be in `of`.

    `balogh2025` is that paper's rule: places as samples where the shapes are equal, and means over places where not.
    """
    if of == "balogh2025":
        return "positions" if one == other else "pooled"
    if of == "positions" and places(one) != places(other):
        return None
    return of


def places(shape: Shape) -> Shape:
    """Of a map C × H × W, H × W; of tokens T × D, T; of a flat layer, none."""
    return shape[1:] if len(shape) == 3 else shape[:-1]


def rows_of(block: np.ndarray, view: str) -> np.ndarray:
    """The rows that a block of samples stands for."""
    block = block.astype(np.float64)
    if view == "flattened" or block.ndim == 2:
        return block.reshape(len(block), -1)
    features_last = np.moveaxis(block, 1, -1) if block.ndim == 4 else block
    if view == "positions":
        return features_last.reshape(-1, features_last.shape[-1])
    return features_last.mean(tuple(range(1, features_last.ndim - 1)))


@dataclass(frozen=True)
class View:
    """A layer as rows: `centred` feature by feature; or each row of length 1 (`cosine`), its mean off (`correlation`).

    `number` is the layer's place in the list it came in, for messages.
    """

    layer: Activations
    number: int
    of: str
    prepared: Prepared
    memory: int

    @property
    def samples(self) -> int:
        return self.layer.shape[0]

    @property
    def half(self) -> bool:
        """Whether its numbers have been through float16."""
        return self.layer.read(0, 1).dtype == np.float16

    @property
    def per_sample(self) -> int:
        """Rows of one sample."""
        return int(np.prod(places(self.layer.shape[1:]))) if self.of == "positions" else 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        shape = self.layer.shape[1:]
        features = int(np.prod(shape)) if self.of == "flattened" else shape[0] if len(shape) == 3 else shape[-1]
        return self.samples * self.per_sample, features

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows in order, as many at a time as memory has room for, each block with its place among the rows."""
        for start, stop, rows in self._read():
            yield slice(start * self.per_sample, stop * self.per_sample), self._prepare(rows, start)

    def _read(self) -> Iterator[tuple[int, int, np.ndarray]]:
        size = max(1, self.memory // (8 * 8 * int(np.prod(self.layer.shape[1:]))))
        for start in range(0, self.samples, size):
            stop = min(start + size, self.samples)
            yield start, stop, rows_of(self.layer.read(start, stop), self.of)

    @cached_property
    def mean(self) -> np.ndarray:
        """Of every feature; a layer that is the same for all rows is refused on the way.

        Sums are of differences from the first row, so that a mean far from zero costs no digits.
        """
        first, total, spread = np.zeros(0), np.zeros(self.shape[1]), 0.0
        for start, _, rows in self._read():
            first = rows[0].copy() if start == 0 else first
            rows -= first
            total += rows.sum(0)
            spread += float(np.vdot(rows, rows))
        if spread <= self.shape[0] * SPREAD**2 * float(first @ first):
            raise LayerError(self.number, "is the same for all samples; it cannot be compared")
        return first + total / self.shape[0]

    def _prepare(self, rows: np.ndarray, start: int) -> np.ndarray:
        mean = self.mean
        if self.prepared == "centred":
            rows -= mean  # a copy of the layer's already
            return rows
        lengths = np.linalg.norm(rows, axis=1)
        if self.prepared == "correlation":
            rows = rows - rows.mean(1, keepdims=True)
        prepared = np.linalg.norm(rows, axis=1)
        if (prepared <= SPREAD * lengths).any():
            sample = start + int(np.argmax(prepared <= SPREAD * lengths))
            raise LayerError(self.number, f"has no direction for sample {sample}: all its features are equal")
        return rows / prepared[:, None]
