"""Rows of stored arrays, read from their chunk files; `store` says which array lies where, and has checked it."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numcodecs import Zstd

from pipeline.arrays import Rows, Shape
from pipeline.chunking import CRC_BYTES, PACKED_ROWS, Chunks

LARGE = 2**13  # bytes of a row above which a second copy costs more than a step of a Python loop


class RawRows:
    """Rows of a `raw` array, read through maps of its chunk files."""

    def __init__(self, folder: Path, shape: Shape, chunk: int, dtype: np.dtype) -> None:
        self.shape = shape
        self._chunks = Chunks(shape[0], chunk)
        self._maps = [  # as plain arrays, which are faster to index
            np.asarray(np.memmap(_chunk_file(folder, shape, k), dtype, "r", shape=(chunk, *shape[1:])))
            for k in range(self._chunks.count)
        ]
        self._flat = [rows.reshape(chunk, -1) for rows in self._maps]  # single rows of these are faster to take

    def read(self, start: int, stop: int) -> Rows:
        first, place = self._chunks.of(start)
        if place + stop - start <= self._chunks.rows:
            return self._maps[first][place : place + stop - start]
        return self.take(np.arange(start, stop))

    def take(self, indices: np.ndarray) -> Rows:
        if len(self._maps) == 1:
            return self._maps[0][indices]
        chunks, places = np.divmod(indices, self._chunks.rows)
        rows = np.empty((len(indices), *self.shape[1:]), self._maps[0].dtype)
        if len(rows) and rows[:1].nbytes >= LARGE:
            found = [self._flat[chunk][place] for chunk, place in zip(chunks.tolist(), places.tolist(), strict=True)]
            _join(found, rows)
            return rows
        for chunk in np.unique(chunks):
            here = np.flatnonzero(chunks == chunk)
            rows[here] = self._maps[chunk][places[here]]
        return rows


def _join(found: list[np.ndarray], rows: Rows) -> None:
    """Copies flat rows, one after another, into `rows`; all cores take a share."""
    share = -(-len(found) // (os.cpu_count() or 1))

    def copy(start: int) -> None:
        np.concatenate(found[start : start + share], out=rows[start : start + share].reshape(-1))

    first, *others = range(0, len(found), share)
    elsewhere = [_threads().submit(copy, start) for start in others]
    copy(first)  # here: waking a thread costs as much as copying a megabyte
    for future in elsewhere:
        future.result()


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
