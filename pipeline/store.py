"""Activation stores: Zarr v3 groups, written once, checked before they are believed.

    STORE/zarr.json              what it holds of what (the identity), for any Zarr library
    STORE/manifest.json          size and crc32c of every file, and the manifest's own digest
    STORE/train/layer1.0/c/0/…   activations, rows in dataset order; likewise test/
    STORE/labels/train/c/0       labels of the rows

A `raw` chunk file is the array's bytes and their crc32c, so rows are mapped and not decoded; a
`packed` one is a shard of compressed inner chunks. docs/decisions/stores.md says why.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import google_crc32c
import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from pipeline import manifest, paths
from pipeline.arrays import Activations, Labels, Rows, Shape
from pipeline.atomic import appear
from pipeline.chunking import CRC_BYTES, PACKED_ROWS, packed_chunks, raw_chunks
from pipeline.errors import StoreError
from pipeline.rows import PackedRows, RawRows
from pipeline.system import reserve

FORMAT = 1
BLOCK = 2**20  # bytes checked, checksummed and written together, while they are in the processor's cache


@dataclass(frozen=True)
class Identity:
    """What a store holds of what. Deterministic: times, hosts and versions have no place in it."""

    model: str
    seed: int
    dataset: str
    weights: str  # digest of the network's weights
    inputs: str  # digest of the prepared dataset
    samples: Mapping[str, str]  # digest of the ordered sample ids, by split
    layout: Literal["raw", "packed"]
    dtype: Literal["float32", "float16"]


@dataclass(frozen=True)
class Spec:
    """One array: the activations at one cut over one split."""

    split: str
    cut: str
    samples: int
    shape: Shape

    @property
    def name(self) -> str:
        return f"{self.split}/{self.cut}"

    @property
    def size(self) -> int:
        """Numbers a row."""
        return math.prod(self.shape)


class StoreWriter:
    """Fills a scratch folder row by row, from wherever an earlier attempt was stopped."""

    def __init__(self, folder: Path, identity: Identity, specs: Sequence[Spec]) -> None:
        self._folder, self._identity = folder, identity
        for litter in folder.rglob("*.partial"):  # what zarr was writing when an earlier attempt was killed
            litter.unlink()
        self._group = zarr.open_group(folder, mode="a", zarr_format=3)
        self._group.attrs.update(
            {"format": FORMAT, **asdict(identity), "cuts": list(dict.fromkeys(s.cut for s in specs))}
        )
        kind = _RawArray if identity.layout == "raw" else _PackedArray
        self._arrays = {spec: kind(self._group, folder, spec, np.dtype(identity.dtype)) for spec in specs}

    def resume_at(self, split: str, batch: int) -> int:
        """The first row still wanted, at the start of a batch: a batch's make-up must not change its bytes."""
        return min(array.done for spec, array in self._arrays.items() if spec.split == split) // batch * batch

    def write(self, split: str, start: int, activations: Mapping[str, Rows]) -> None:
        """Rows from `start` on at every cut of the split; those already on disk are passed over."""
        for spec, array in self._arrays.items():
            if spec.split == split:
                rows = activations[spec.cut]
                array.append(rows[array.done - start :] if array.done > start else rows)

    def finish(self, labels: Mapping[str, Labels], destination: Path) -> None:
        """Stamps the whole store and gives it its name."""
        for spec, array in self._arrays.items():
            if array.done != spec.samples:
                raise StoreError(f"{destination}: {spec.name} has {array.done} rows; it should have {spec.samples}")
        for unfinished in self._folder.rglob("partial"):
            raise StoreError(f"{destination}: {unfinished} was never finished; remove {self._folder} and run again")
        for split, values in labels.items():
            _write_labels(self._group, split, values)
        manifest.write(self._folder, {p: c for array in self._arrays.values() for p, c in array.checksums.items()})
        appear(self._folder, destination)


class _RawArray:
    """Chunks streamed to disk with their running checksum; nothing of them stays in memory."""

    def __init__(self, group: zarr.Group, folder: Path, spec: Spec, dtype: np.dtype) -> None:
        self._row_bytes = spec.size * dtype.itemsize
        self._chunks = raw_chunks(spec.samples, self._row_bytes)
        self._spec, self._dtype = spec, dtype
        shape = (self._chunks.rows, *spec.shape)
        if spec.name not in group:
            _create(group, spec, dtype, chunks=shape, compressors=[Crc32cCodec()])
        self._folder = folder / spec.name / "c"
        self._depth = "/0" * len(spec.shape)
        self._crc = 0
        self.checksums: dict[Path, str] = {}  # of the chunks closed in this run
        self.done = self._resume()

    def _path(self, chunk: int) -> Path:
        return self._folder / f"{chunk}{self._depth}"

    def _partial(self, chunk: int) -> Path:
        return self._path(chunk).with_name("partial")

    def _resume(self) -> int:
        """Rows on disk: whole chunks, and the whole rows of the one that was being written."""
        chunk = next((k for k in range(self._chunks.count) if not self._path(k).exists()), None)
        if chunk is None:
            return self._chunks.samples
        partial, (first, last) = self._partial(chunk), self._chunks.span(chunk)
        if not partial.exists():
            return first
        rows = min(partial.stat().st_size // self._row_bytes, last - first)
        os.truncate(partial, rows * self._row_bytes)
        self._crc = google_crc32c.extend(0, np.fromfile(partial, np.uint8))
        if first + rows < last:
            return first + rows
        self._close(chunk)  # killed between its last row and its name
        return self._resume()

    def append(self, rows: Rows) -> None:
        rows = np.ascontiguousarray(rows)
        while len(rows):
            chunk, _ = self._chunks.of(self.done)
            last = self._chunks.span(chunk)[1]
            part, rows = rows[: last - self.done], rows[last - self.done :]
            self._append_within(chunk, part)
            self.done += len(part)
            if self.done == last:
                self._close(chunk)

    def _append_within(self, chunk: int, rows: Rows) -> None:
        path = self._partial(chunk)
        path.parent.mkdir(parents=True, exist_ok=True)
        step = max(1, BLOCK // self._row_bytes)
        with path.open("ab", buffering=0) as file:
            if not file.tell():
                reserve(file.fileno(), self._chunks.rows * self._row_bytes + CRC_BYTES)
            for start in range(0, len(rows), step):
                data = _cast(self._spec, rows[start : start + step], self._dtype).reshape(-1).view(np.uint8)
                self._crc = google_crc32c.extend(self._crc, data)
                _write_all(file.fileno(), data.data)

    def _close(self, chunk: int) -> None:
        first, last = self._chunks.span(chunk)
        padding = np.full(
            (self._chunks.rows - (last - first)) * (self._row_bytes // self._dtype.itemsize), np.nan, self._dtype
        )
        crc = google_crc32c.extend(self._crc, padding.view(np.uint8))
        with self._partial(chunk).open("ab") as file:
            file.write(padding.tobytes() + crc.to_bytes(CRC_BYTES, "little"))
        self._partial(chunk).rename(self._path(chunk))
        self.checksums[self._path(chunk)] = manifest.joined(crc, crc.to_bytes(CRC_BYTES, "little"))
        self._crc = 0


class _PackedArray:
    """Shards collected in memory and written whole: one writer a shard, aligned."""

    def __init__(self, group: zarr.Group, folder: Path, spec: Spec, dtype: np.dtype) -> None:
        self._chunks = packed_chunks(spec.samples, spec.size * dtype.itemsize)
        if spec.name not in group:
            _create(
                group, spec, dtype,
                chunks=(PACKED_ROWS, *spec.shape), shards=(self._chunks.rows, *spec.shape),
                compressors=[ZstdCodec(level=1), Crc32cCodec()],
            )  # fmt: skip
        self._spec, self._array = spec, _array(group, spec.name)
        self._shard = np.empty((self._chunks.rows, *spec.shape), dtype)
        self.checksums: dict[Path, str] = {}
        files = [folder / spec.name / "c" / f"{k}{'/0' * len(spec.shape)}" for k in range(self._chunks.count)]
        whole = next((k for k, path in enumerate(files) if not path.exists()), self._chunks.count)
        self.done = min(whole * self._chunks.rows, spec.samples)

    def append(self, rows: Rows) -> None:
        while len(rows):
            chunk, place = self._chunks.of(self.done)
            first, last = self._chunks.span(chunk)
            part, rows = rows[: last - self.done], rows[last - self.done :]
            self._shard[place : place + len(part)] = _cast(self._spec, part, self._shard.dtype)
            self.done += len(part)
            if self.done == last:
                self._array[first:last] = self._shard[: last - first]


def _write_all(file: int, data: memoryview) -> None:
    while data:
        data = data[os.write(file, data) :]


def _create(group: zarr.Group, spec: Spec, dtype: np.dtype, **layout: Any) -> None:
    # NaN where nothing was written: a missing chunk filled with 0 would look like ReLU.
    group.create_array(spec.name, shape=(spec.samples, *spec.shape), dtype=dtype, fill_value=float("nan"), **layout)


def _write_labels(group: zarr.Group, split: str, labels: Labels) -> None:
    array = group.create_array(
        f"labels/{split}", shape=labels.shape, chunks=labels.shape, dtype="int64",
        fill_value=-1, compressors=[Crc32cCodec()], overwrite=True,
    )  # fmt: skip
    array[:] = labels


def _cast(spec: Spec, rows: Rows, dtype: np.dtype) -> Rows:
    """`rows` in the store's type; a number that does not survive is an error, not an infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        cast = rows.astype(dtype, copy=False)
    if np.isfinite(cast).all():
        return cast
    if not np.isfinite(rows).all():
        raise StoreError(f"{spec.name}: activations are not finite; the network that made them is broken")
    largest = np.abs(rows).max()
    raise StoreError(f"{spec.name}: {largest:.3g} overflows {dtype}, which ends at 65504; use extract.dtype float32")


def open_store(model: str, seed: int, dataset: str, norms: str = "eval") -> "Store":
    """The store of that network on that dataset, known to be of no other."""
    store = Store(paths.store(model, seed, dataset, norms))
    store.expect(model=model, seed=seed, dataset=dataset)
    return store


class Store:
    """A finished store; opening it checks that it is whole and unharmed, once per machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest.verify(folder)
        self._group = zarr.open_group(folder, mode="r", zarr_format=3)
        stamp = dict(self._group.attrs)
        if stamp.pop("format") != FORMAT:
            raise StoreError(f"{folder}: has another format than {FORMAT}; remove it and run dvc repro")
        self.cuts: tuple[str, ...] = tuple(stamp.pop("cuts"))  # type: ignore[arg-type]
        self.identity = Identity(**stamp)  # type: ignore[arg-type]

    @property
    def digest(self) -> str:
        """Of all that the store holds."""
        return manifest.digest_of(self.folder)

    def shape(self, cut: str) -> Shape:
        """Of one row."""
        return self.rows("test", cut).shape[1:]

    def labels(self, split: str) -> Labels:
        return np.asarray(_array(self._group, f"labels/{split}")[:])

    def rows(self, split: str, cut: str) -> Activations:
        if cut not in self.cuts:
            raise StoreError(f"{self.folder}: holds no {cut}; it has {', '.join(self.cuts)}")
        array = _array(self._group, f"{split}/{cut}")
        if self.identity.layout == "raw":
            return RawRows(self.folder / split / cut, array.shape, array.chunks[0], array.dtype)
        assert array.shards is not None, cut
        return PackedRows(self.folder / split / cut, array.shape, array.shards[0], array.dtype)

    def expect(self, **facts: object) -> None:
        """Refuses the store unless its identity says just these facts."""
        for name, wanted in facts.items():
            found = getattr(self.identity, name)
            if found != wanted:
                raise StoreError(f"{self.folder}: its {name} is {found}; expected {wanted}: run dvc repro")


def _array(group: zarr.Group, name: str) -> zarr.Array:
    array = group[name]
    assert isinstance(array, zarr.Array), name
    return array
