"""Arithmetic of chunks, shards and bills: integers in, integers out; touches no disk.

An array of N rows becomes a few files of R rows each, the last one padded::

    rows    0 ........ R ........ 2R ....... N
    files   [    0    ][    1    ][    2   ##]      ## is padding, in `raw` stored as NaN
"""

import math
from dataclasses import dataclass

RAW_TARGET = 128 * 2**20  # bytes a raw chunk: large enough for tens of files a store, small enough to resume from
PACKED_TARGET = 32 * 2**20  # bytes a shard before compression: each cut's shard is held in memory while it fills
ALIGN = 128  # rows; chunks of several files begin on such rows, so that usual batches never straddle two
PACKED_ROWS = 16  # rows a compressed inner chunk
CRC_BYTES = 4  # of the crc32c that a chunk ends with


@dataclass(frozen=True)
class Chunks:
    """N samples in files of `rows` rows."""

    samples: int
    rows: int

    @property
    def count(self) -> int:
        return -(-self.samples // self.rows)

    @property
    def padding(self) -> int:
        return self.count * self.rows - self.samples

    def span(self, chunk: int) -> tuple[int, int]:
        """First row of `chunk`, and the row after its last real one."""
        return chunk * self.rows, min((chunk + 1) * self.rows, self.samples)

    def of(self, row: int) -> tuple[int, int]:
        """The chunk that holds `row`, and its place in it."""
        return divmod(row, self.rows)


def plan_chunks(samples: int, row_bytes: int, target: int, align: int) -> Chunks:
    """Files as near `target` bytes as whole multiples of `align` rows allow, evenly filled.

    One file holds everything that fits in it, with no padding at all. With several, evenness keeps the
    padding under `align` rows a file.
    """
    if samples < 1 or row_bytes < 1:
        raise ValueError(f"{samples} samples of {row_bytes} bytes cannot be chunked")
    files = math.ceil(samples * row_bytes / target)
    if files == 1:
        return Chunks(samples, samples)
    even = math.ceil(samples / files)
    return Chunks(samples, math.ceil(even / align) * align)


def raw_chunks(samples: int, row_bytes: int) -> Chunks:
    return plan_chunks(samples, row_bytes, RAW_TARGET, ALIGN)


def packed_chunks(samples: int, row_bytes: int) -> Chunks:
    """As `raw_chunks`, of whole inner chunks even where one shard holds all."""
    plan = plan_chunks(samples, row_bytes, PACKED_TARGET, ALIGN)
    return Chunks(samples, math.ceil(plan.rows / PACKED_ROWS) * PACKED_ROWS)


@dataclass(frozen=True)
class Bill:
    """What a store will cost before it is written."""

    bytes: int  # on disk, before any compression
    files: int
    memory: int  # held by the writer at once

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(self.bytes + other.bytes, self.files + other.files, self.memory + other.memory)


def bill(layout: str, samples: int, row_bytes: int, batch: int) -> Bill:
    """The cost of one array; `raw` streams into its chunk and holds two batches, `packed` also a shard."""
    waiting = 3 * min(batch, samples) * row_bytes
    if layout == "raw":
        chunks = raw_chunks(samples, row_bytes)
        return Bill(chunks.count * (chunks.rows * row_bytes + CRC_BYTES), chunks.count + 1, waiting)
    chunks = packed_chunks(samples, row_bytes)
    return Bill(samples * row_bytes, chunks.count + 1, waiting + chunks.rows * row_bytes)
