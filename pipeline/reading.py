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
from pipeline.rows import PackedRows, Picked
from pipeline.training import Batch, Feed, Source

RUN = 128  # rows read together from a `packed` array


def batches_of(rows: Activations, towards: Labels | Activations, memory: int, device: torch.device) -> Source:
    """A feed of `rows`, with their labels or with other rows of the same samples, in about `memory` bytes at most."""
    if isinstance(towards, np.ndarray):
        answers = torch.from_numpy(towards).to(device)
    else:
        memory //= 2
        answers = _Rows(towards, memory, device)
    row_bytes = 4 * int(np.prod(rows.shape[1:]))
    if device.type == "cuda":  # where what is resident lies
        memory = min(memory, torch.cuda.mem_get_info(device)[0] // 2)
    if row_bytes * rows.shape[0] <= memory:
        resident = tensor(rows.read(0, rows.shape[0]), device)
        return Feed(rows.shape[0], lambda at, _: (resident[at], answers[at]))
    if isinstance(rows.rows if isinstance(rows, Picked) else rows, PackedRows):
        return MixedRuns(rows, answers, max(2 * RUN, memory // row_bytes), device)
    return Feed(rows.shape[0], lambda at, _: (tensor(rows.take(at), device), answers[at]))


def tensor(rows: np.ndarray, device: torch.device) -> Tensor:
    """`rows` in float32 on the device, never an alias of a mapped file."""
    return torch.from_numpy(np.require(rows, np.float32, "W")).to(device)  # maps are read-only, and so copied


class _Rows:
    """Rows by their numbers, resident if they fit."""

    def __init__(self, rows: Activations, memory: int, device: torch.device) -> None:
        fits = 4 * int(np.prod(rows.shape)) <= memory
        self._resident = tensor(rows.read(0, rows.shape[0]), device) if fits else None
        self._rows, self._device = rows, device

    def __getitem__(self, at: np.ndarray) -> Tensor:
        return tensor(self._rows.take(at), self._device) if self._resident is None else self._resident[at]


@dataclass(frozen=True)
class MixedRuns:
    """Runs of neighbouring rows in random order, mixed in a buffer of `buffer` rows."""

    rows: Activations
    answers: "Tensor | _Rows"
    buffer: int
    device: torch.device

    @property
    def samples(self) -> int:
        return self.rows.shape[0]

    def epoch(self, seed: int, epoch: int, batch: int) -> Iterator[Batch]:
        """Each run read takes the places of as many rows, drawn from the full buffer: those come out."""
        random = generator(seed, "order", epoch)
        held, numbers = np.empty((self.buffer, *self.rows.shape[1:]), np.float32), np.empty(self.buffer, np.int64)
        filled, waiting = 0, _Waiting(batch)
        for start in random.permutation(np.arange(0, self.samples, RUN)).tolist():
            stop = min(start + RUN, self.samples)
            new, order = self.rows.read(start, stop), np.arange(start, stop)
            room = min(len(order), self.buffer - filled)
            places = np.arange(filled, filled + room)
            if room < len(order):
                drawn = random.choice(filled, len(order) - room, replace=False)
                waiting.add(held[drawn], numbers[drawn])
                places = np.concatenate([places, drawn])
            held[places], numbers[places] = new, order
            filled += room
            yield from map(self._batch, *waiting.full())
        rest = random.permutation(filled)
        waiting.add(held[rest], numbers[rest])
        yield from map(self._batch, *waiting.all())

    def _batch(self, held: np.ndarray, order: np.ndarray) -> Batch:
        return tensor(held, self.device), self.answers[order]


class _Waiting:
    """Rows on their way into batches, and their numbers."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, rows: np.ndarray, numbers: np.ndarray) -> None:
        self._parts.append((rows, numbers))

    def full(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The batches there are enough rows for; the rest wait on."""
        rows, numbers = self._joined()
        whole = len(numbers) // self._batch * self._batch
        self._parts = [(rows[whole:], numbers[whole:])] if whole < len(numbers) else []
        return self._split(rows[:whole]), self._split(numbers[:whole])

    def all(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Every row there is, but a last batch of one: BatchNorm has no variance over one sample."""
        rows, numbers = self._joined()
        kept = len(numbers) - (len(numbers) % self._batch == 1)
        return self._split(rows[:kept]), self._split(numbers[:kept])

    def _joined(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._parts:
            return np.empty(0), np.empty(0, np.int64)
        return np.concatenate([rows for rows, _ in self._parts]), np.concatenate(
            [numbers for _, numbers in self._parts]
        )

    def _split(self, values: np.ndarray) -> list[np.ndarray]:
        return [values[start : start + self._batch] for start in range(0, len(values), self._batch)]
