"""From stored activations to batches for training.

What fits in memory becomes resident and is shuffled exactly; what does not is read as it is wanted: `raw`
rows at random, `packed` ones in runs that a buffer mixes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.arrays import Activations, Labels
from pipeline.randomness import generator
from pipeline.rows import PackedRows
from pipeline.training import Batch, Feed, Source

RUN = 128  # rows read together from a `packed` array


def batches_of(rows: Activations, labels: Labels, memory: int, device: torch.device) -> Source:
    """A feed of `rows` with their labels that holds about `memory` bytes at most."""
    answers = torch.from_numpy(labels).to(device)
    row_bytes = 4 * int(np.prod(rows.shape[1:]))
    if row_bytes * rows.shape[0] <= memory:
        resident = tensor(rows.read(0, rows.shape[0]), device)
        return Feed(rows.shape[0], lambda at, _: (resident[at], answers[at]))
    if isinstance(rows, PackedRows):
        return MixedRuns(rows, answers, max(2 * RUN, memory // row_bytes), device)
    return Feed(rows.shape[0], lambda at, _: (tensor(rows.take(at), device), answers[at]))


def tensor(rows: np.ndarray, device: torch.device) -> Tensor:
    """`rows` in float32 on the device, never an alias of a mapped file."""
    return torch.from_numpy(np.require(rows, np.float32, "W")).to(device)  # maps are read-only, and so copied


@dataclass(frozen=True)
class MixedRuns:
    """Runs of neighbouring rows in random order, mixed in a buffer of `buffer` rows."""

    rows: Activations
    labels: Tensor
    buffer: int
    device: torch.device

    @property
    def samples(self) -> int:
        return self.rows.shape[0]

    def epoch(self, seed: int, epoch: int, batch: int) -> Iterator[Batch]:
        random = generator(seed, "order", epoch)
        starts = random.permutation(np.arange(0, self.samples, RUN))
        held, order = np.empty((0, *self.rows.shape[1:]), np.float32), np.empty(0, np.int64)
        for start in starts.tolist():
            stop = min(start + RUN, self.samples)
            held = np.concatenate([held, self.rows.read(start, stop)])
            order = np.concatenate([order, np.arange(start, stop)])
            if len(order) >= self.buffer:
                held, order = _shuffled(held, order, random)
                while len(order) > max(batch, self.buffer - RUN):
                    yield self._batch(held[:batch], order[:batch])
                    held, order = held[batch:], order[batch:]
        held, order = _shuffled(held, order, random)
        for first in range(0, len(order), batch):
            if len(order) - first > 1:  # BatchNorm has no variance over one sample
                yield self._batch(held[first : first + batch], order[first : first + batch])

    def _batch(self, held: np.ndarray, order: np.ndarray) -> Batch:
        return tensor(held, self.device), self.labels[order]


def _shuffled(held: np.ndarray, order: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    at = random.permutation(len(order))
    return held[at], order[at]
