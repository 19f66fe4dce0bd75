"""What goes into a store comes out of it, whatever its shape, layout and batches."""

import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import chunking
from pipeline.store import Identity, Spec, Store, StoreWriter

shapes = st.one_of(
    st.tuples(st.integers(1, 5)),
    st.tuples(st.integers(1, 4), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
)


def identity(layout: str, dtype: str) -> Identity:
    return Identity("m", 0, "d", "w", "i", {"train": "a", "test": "b"}, layout, dtype)  # type: ignore[arg-type]


def filled(folder: Path, stamp: Identity, arrays: dict[Spec, np.ndarray], batch: int, name: str = "store") -> Store:
    """A store of `arrays`, written `batch` rows at a time."""
    writer = StoreWriter(folder / "scratch", stamp, list(arrays))
    for split in {spec.split for spec in arrays}:
        here = {spec.cut: rows for spec, rows in arrays.items() if spec.split == split}
        for start in range(0, len(next(iter(here.values()))), batch):
            writer.write(split, start, {cut: rows[start : start + batch] for cut, rows in here.items()})
    labels = {spec.split: np.arange(spec.samples) for spec in arrays}
    writer.finish(labels, folder / name)
    return Store(folder / name)


@settings(max_examples=40)
@given(
    samples=st.integers(1, 60), one=shapes, two=shapes, batch=st.integers(1, 70), target=st.integers(1, 2000),
    layout=st.sampled_from(["raw", "packed"]), dtype=st.sampled_from(["float32", "float16"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_store_gives_back_what_was_written(
    samples: int, one: tuple, two: tuple, batch: int, target: int, layout: str, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    arrays = {
        Spec(split, cut, samples, shape): random.standard_normal((samples, *shape)).astype(np.float32)
        for split in ("train", "test") for cut, shape in (("one", one), ("two.0", two))
    }  # fmt: skip
    small = [patch.object(chunking, name, target) for name in ("RAW_TARGET", "PACKED_TARGET")]
    with tempfile.TemporaryDirectory() as folder, small[0], small[1], patch.object(chunking, "ALIGN", 4):
        store = filled(Path(folder), identity(layout, dtype), arrays, batch)
        group = zarr.open_group(store.folder, mode="r")
        for spec, held in arrays.items():
            wanted, found = held.astype(dtype), store.rows(spec.split, spec.cut)
            order = random.permutation(samples)

            assert np.array_equal(found.read(0, samples), wanted)
            assert np.array_equal(found.take(order), wanted[order])
            assert np.array_equal(found.read(samples // 3, samples), wanted[samples // 3 :])
            assert np.array_equal(group[spec.name][:], wanted)  # type: ignore[index]
            assert np.array_equal(store.labels(spec.split), np.arange(samples))
