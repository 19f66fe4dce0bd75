"""Reading stores: `raw` against a .npy memmap, `packed` against zarr-python itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import zarr

from bench.networks import activations, stored
from bench.ratios import Contender, Row, nothing, ratio_row, side_by_side
from bench.sizes import Sizes
from pipeline import chunking
from pipeline.arrays import Activations, Rows
from pipeline.randomness import generator
from pipeline.system import keep_memory

IN_ORDER, AT_RANDOM = 128, 256  # rows at a time


def rows(sizes: Sizes) -> Iterator[Row]:
    """Of arrays in one chunk and in several; memory is kept, as it is while a stitch is trained, by both sides."""
    keep_memory()
    values = activations(sizes.rows, sizes.row)
    with files_of(sizes.chunk):
        one = stored(Path("one"), {"a": values[: sizes.one_chunk]}, "raw")
        several = stored(Path("several"), {"a": values}, "raw")
        packed = stored(Path("packed"), {"a": values}, "packed")
    for name, store, wanted in (("one chunk", one, values[: sizes.one_chunk]), ("several chunks", several, values)):
        np.save(f"{name}.npy", wanted)
        yield from _raw(name, store.rows("test", "a"), np.load(f"{name}.npy", mmap_mode="r"), sizes.repetitions)
    yield _packed(packed.rows("test", "a"), packed.folder, values, sizes.repetitions)


@contextmanager
def files_of(size: int) -> Iterator[None]:
    """Chunks of about `size` bytes for stores made inside, and shards of a quarter, as is usual."""
    before = chunking.RAW_TARGET, chunking.PACKED_TARGET
    chunking.RAW_TARGET, chunking.PACKED_TARGET = size, size // 4
    try:
        yield
    finally:
        chunking.RAW_TARGET, chunking.PACKED_TARGET = before


def _raw(name: str, ours: Activations, mapped: np.ndarray, repetitions: int) -> Iterator[Row]:
    orders = np.split(generator(0, "order").permutation(len(mapped)), range(AT_RANDOM, len(mapped), AT_RANDOM))
    assert np.array_equal(ours.take(orders[0]), mapped[orders[0]])
    spans = in_order(len(mapped))
    pairs = {
        f"{IN_ORDER} rows in order": (
            _each(spans, lambda span: np.array(ours.read(*span))),
            _each(spans, lambda span: np.array(mapped[slice(*span)])),
        ),
        f"{AT_RANDOM} rows at random": (_each(orders, ours.take), _each(orders, mapped.__getitem__)),
    }
    for way, (stored_rows, memmap) in pairs.items():  # a pair at a time, so that each follows the other as often
        times = side_by_side({"raw": stored_rows, "memmap": memmap}, 3 * repetitions)
        yield ratio_row("reading", f"raw, {name}, {way}", times, "raw", ["memmap"], mapped.nbytes, 0.9)


def _packed(ours: Activations, folder: Path, values: Rows, repetitions: int) -> Row:
    plain = zarr.open_array(folder / "test/a", mode="r")
    assert np.array_equal(ours.read(0, len(values)), values)
    spans = in_order(len(values))
    times = side_by_side(
        {
            "packed": _each(spans, lambda span: ours.read(*span)),
            "zarr-python": _each(spans, lambda span: plain[slice(*span)]),
        },
        repetitions,
    )
    label = f"packed, {IN_ORDER} rows in order"
    return ratio_row("packed", label, times, "packed", ["zarr-python"], values.nbytes, 1.0)


def in_order(samples: int) -> list[tuple[int, int]]:
    return [(start, min(start + IN_ORDER, samples)) for start in range(0, samples, IN_ORDER)]


def _each(wanted: list, read: Callable[..., object]) -> Contender:
    """Reads all of them, keeping none."""

    def run() -> None:
        for what in wanted:
            read(what)

    return Contender(run, nothing)
