"""Rows of stored arrays, read from their chunk files; `store` says which array lies where, and has checked it."""

import math
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numcodecs import Zstd

from pipeline.arrays import Activations, Rows, Shape
from pipeline.chunking import CRC_BYTES, PACKED_ROWS, Chunks
from pipeline.system import mapped


class RawRows:
    """Rows of a `raw` array, read through one map of all its chunk files.

    Between the rows of two files lie some that no sample has, so that each file begins a page and a row::

        rows    0 ........ R .. A ........ A+R .. 2A ....
        files   [    0    ]     [    1    ]      [    2
    """

    def __init__(self, folder: Path, shape: Shape, chunk: int, dtype: np.dtype) -> None:
        self.shape = shape
        self._chunks = Chunks(shape[0], chunk)
        row_bytes = dtype.itemsize * math.prod(shape[1:])
        pages = mmap.PAGESIZE // math.gcd(row_bytes, mmap.PAGESIZE)  # rows that fill whole ones
        self._apart = -(-(chunk + CRC_BYTES) // pages) * pages  # a row or more for the checksum
        files = [_chunk_file(folder, shape, k) for k in range(self._chunks.count)]
        self._rows = mapped(files, self._apart * row_bytes).view(dtype).reshape(-1, *shape[1:])

    def read(self, start: int, stop: int) -> Rows:
        first, place = self._chunks.of(start)
        if place + stop - start <= self._chunks.rows:
            return self._rows[first * self._apart + place :][: stop - start]
        return self.take(np.arange(start, stop))

    def take(self, indices: np.ndarray) -> Rows:
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.shape[0]:
            raise IndexError(f"rows {indices.min()} to {indices.max()} are wanted of {self.shape[0]}")
        chunks, places = np.divmod(indices, self._chunks.rows)
        return self._rows.take(chunks * self._apart + places, axis=0)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "rows")


class PackedRows:
    """Rows of a `packed` array; cheap in order, dear at random.

    Inner chunks are decoded side by side from maps of the shards, each right to its place. Like those of `raw`,
    their checksums are not computed again: the manifest's were when the store was opened.
    """

    def __init__(self, folder: Path, shape: Shape, shard: int, dtype: np.dtype) -> None:
        self.shape, self._dtype = shape, dtype
        self._chunks = Chunks(shape[0], shard)
        self._shards = [_Shard(_chunk_file(folder, shape, k), shard) for k in range(self._chunks.count)]

    def read(self, start: int, stop: int) -> Rows:
        first, last = start // PACKED_ROWS, -(-stop // PACKED_ROWS)
        return self._decoded(range(first, last))[start - first * PACKED_ROWS : stop - first * PACKED_ROWS]

    def take(self, indices: np.ndarray) -> Rows:
        wanted, place = np.unique(indices // PACKED_ROWS, return_inverse=True)
        return self._decoded(wanted.tolist())[place * PACKED_ROWS + indices % PACKED_ROWS]

    def _decoded(self, inner: "range | list[int]") -> Rows:
        """The rows of these inner chunks, one after another."""
        rows = np.empty((len(inner) * PACKED_ROWS, *self.shape[1:]), self._dtype)

        def decode(number: int, at: int) -> None:
            shard, place = self._chunks.of(number * PACKED_ROWS)
            Zstd().decode(self._shards[shard].inner(place // PACKED_ROWS), rows[at : at + PACKED_ROWS])

        list(_threads().map(decode, inner, range(0, len(rows), PACKED_ROWS)))
        return rows


class _Shard:
    """A map of a shard file; at its end are the offset and the length of every inner chunk, and their crc32c."""

    def __init__(self, path: Path, rows: int) -> None:
        self._bytes = np.asarray(np.memmap(path, np.uint8, "r"))
        index = self._bytes[-(16 * rows // PACKED_ROWS) - CRC_BYTES : -CRC_BYTES]
        self._index = np.frombuffer(index.tobytes(), "<u8").reshape(-1, 2)

    def inner(self, number: int) -> np.ndarray:
        """The compressed bytes of an inner chunk, without the crc32c that they end with."""
        offset, length = self._index[number].tolist()
        return self._bytes[offset : offset + length - CRC_BYTES]


def _chunk_file(folder: Path, shape: Shape, chunk: int) -> Path:
    return folder / "c" / f"{chunk}{'/0' * (len(shape) - 1)}"


@dataclass(frozen=True)
class Picked:
    """Some of the rows, by their numbers."""

    rows: Activations
    numbers: np.ndarray

    @property
    def shape(self) -> Shape:
        return len(self.numbers), *self.rows.shape[1:]

    def read(self, start: int, stop: int) -> Rows:
        return self.rows.take(self.numbers[start:stop])

    def take(self, indices: np.ndarray) -> Rows:
        return self.rows.take(self.numbers[indices])
