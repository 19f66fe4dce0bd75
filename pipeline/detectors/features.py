"""Activations as rows of features, in float64 and a block at a time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float64

from pipeline.arrays import Activations, Held

Of = Literal["pooled", "flattened"]
Block = Float64[np.ndarray, "_ _"]  # rows by features


@dataclass(frozen=True)
class Features:
    """`pooled` is the mean over a map's places or over all tokens; flat layers are what they are."""

    rows: Activations
    of: Of

    @property
    def samples(self) -> int:
        return self.rows.shape[0]

    @property
    def width(self) -> int:
        row = self.rows.shape[1:]
        if self.of == "flattened":
            return math.prod(row)
        return row[0] if len(row) == 3 else row[-1]

    def read(self, start: int, stop: int) -> Block:
        return self._featured(self.rows.read(start, stop))

    def take(self, indices: np.ndarray) -> Block:
        return self._featured(self.rows.take(indices))

    def blocks(self, memory: int, beside: int = 0) -> Iterator[tuple[int, Block]]:
        """All rows, and where each block begins.

        Activations and features of a block, and `beside` bytes more for each row, fit in about `memory` bytes.
        """
        size = max(1, memory // (4 * math.prod(self.rows.shape[1:]) + 8 * self.width + beside))
        for start in range(0, self.samples, size):
            yield start, self.read(start, min(start + size, self.samples))

    def _featured(self, rows: np.ndarray) -> Block:
        if self.of == "flattened" or rows.ndim == 2:
            return rows.reshape(len(rows), -1).astype(np.float64)
        return rows.mean((2, 3) if rows.ndim == 4 else 1, dtype=np.float64)


def held(features: Features, memory: int) -> Features:
    """The same features, resident where they take no more than `memory` bytes."""
    if 8 * features.samples * features.width > memory:
        return features
    return Features(Held(np.concatenate([block for _, block in features.blocks(memory)])), "flattened")
