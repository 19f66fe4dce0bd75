"""A store is whole and unharmed, or it is refused; and a killed one goes on to the same bytes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zarr

from pipeline import chunking
from pipeline.errors import StoreError
from pipeline.rows import PackedRows, RawRows
from pipeline.store import Identity, Spec, Store, StoreWriter

SAMPLES, BATCH = 50, 8
SPECS = [
    Spec(split, cut, SAMPLES, shape) for split in ("train", "test") for cut, shape in (("a", (3, 4)), ("b.0", (2,)))
]
LABELS = {split: np.arange(SAMPLES) for split in ("train", "test")}


def identity(layout: str = "raw", dtype: str = "float32") -> Identity:
    return Identity("m", 0, "d", "w", "i", {"train": "x", "test": "y"}, layout, dtype)  # type: ignore[arg-type]


def activations(spec: Spec) -> np.ndarray:
    return np.random.default_rng(len(spec.name)).standard_normal((SAMPLES, *spec.shape)).astype(np.float32)


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "RAW_TARGET", 20 * 48)
    monkeypatch.setattr(chunking, "PACKED_TARGET", 20 * 48)
    monkeypatch.setattr(chunking, "ALIGN", 4)


def fill(writer: StoreWriter, batches: int | None = None) -> None:
    """Writes what is wanting, or as many batches of it."""
    for split in ("train", "test"):
        for start in range(writer.resume_at(split, BATCH), SAMPLES, BATCH):
            if batches == 0:
                return
            batches = batches and batches - 1
            rows = slice(start, start + BATCH)
            writer.write(split, start, {spec.cut: activations(spec)[rows] for spec in SPECS if spec.split == split})


def made(name: str, stamp: Identity) -> Path:
    writer = StoreWriter(Path("scratch") / name, stamp, SPECS)
    fill(writer)
    writer.finish(LABELS, Path(name))
    return Path(name)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("layout", ["raw", "packed"])
@pytest.mark.parametrize("batches", range(14))
def test_a_store_stopped_after_any_batch_ends_in_the_same_bytes(layout: str, batches: int) -> None:
    whole = contents(made("whole", identity(layout)))

    fill(StoreWriter(Path("scratch/stopped"), identity(layout), SPECS), batches)
    resumed = StoreWriter(Path("scratch/stopped"), identity(layout), SPECS)
    fill(resumed)
    resumed.finish(LABELS, Path("stopped"))

    assert contents(Path("stopped")) == whole


def test_a_resumed_raw_store_loses_no_whole_batch() -> None:
    fill(StoreWriter(Path("scratch/s"), identity(), SPECS), 3)

    assert StoreWriter(Path("scratch/s"), identity(), SPECS).resume_at("train", BATCH) == 3 * BATCH


@pytest.mark.parametrize("torn", range(1, 48, 5))
def test_a_torn_row_is_written_again(torn: int) -> None:
    whole = contents(made("whole", identity()))
    fill(StoreWriter(Path("scratch/torn"), identity(), SPECS), 4)
    (partial,) = Path("scratch/torn/train/a").rglob("partial")
    with partial.open("r+b") as file:
        file.truncate(partial.stat().st_size - torn)

    resumed = StoreWriter(Path("scratch/torn"), identity(), SPECS)
    fill(resumed)
    resumed.finish(LABELS, Path("torn"))

    assert contents(Path("torn")) == whole


@pytest.mark.parametrize("call", range(8))
def test_a_kill_between_a_chunks_last_row_and_its_name_ends_in_the_same_bytes(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(made("whole", identity()))
    left, rename = iter(range(call + 1)), Path.rename

    def dying(path: Path, target: Path) -> Path:
        if path.name == "partial" and next(left, None) == call:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", dying)
        with pytest.raises(KeyboardInterrupt):
            fill(StoreWriter(Path("scratch/killed"), identity(), SPECS))
    resumed = StoreWriter(Path("scratch/killed"), identity(), SPECS)
    fill(resumed)
    resumed.finish(LABELS, Path("killed"))

    assert contents(Path("killed")) == whole


def test_our_raw_chunks_are_the_bytes_that_zarr_writes() -> None:
    store = made("ours", identity())
    group = zarr.open_group("theirs", mode="w", zarr_format=3)
    for spec in SPECS:
        ours = zarr.open_array(store / spec.name, mode="r")
        theirs = group.create_array(
            spec.name, shape=ours.shape, chunks=ours.chunks, dtype=ours.dtype, fill_value=float("nan"),
            compressors=ours.compressors,
        )  # fmt: skip
        theirs[:] = activations(spec)

    for spec in SPECS:
        assert contents(store / spec.name) == contents(Path("theirs") / spec.name)


@pytest.mark.parametrize("layout", ["raw", "packed"])
def test_a_flipped_byte_anywhere_is_refused(layout: str) -> None:
    store = made("store", identity(layout))
    random = np.random.default_rng(0)
    for path in sorted(path for path in store.rglob("*") if path.is_file()):
        data = bytearray(path.read_bytes())
        for place in {0, len(data) - 1, *random.integers(0, len(data), 4).tolist()}:
            flipped = data.copy()
            flipped[place] ^= 1 << int(random.integers(8))
            path.write_bytes(flipped)
            with pytest.raises(StoreError, match=r"does not match its checksum|is damaged|is missing|should have"):
                Store(store)
        path.write_bytes(data)

    assert Store(store).cuts == ("a", "b.0")


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(("harm", "words"), [(remove, "is missing"), (truncate, r"has \d+ bytes; it should have \d+")])
def test_a_missing_or_truncated_chunk_is_refused(harm: Callable[[Path], None], words: str) -> None:
    store = made("store", identity())
    Store(store)

    harm(next(path for path in (store / "train/a/c").rglob("*") if path.is_file()))

    with pytest.raises(StoreError, match=words):
        Store(store)


def test_an_unfinished_store_is_refused() -> None:
    fill(StoreWriter(Path("scratch/s"), identity(), SPECS))

    with pytest.raises(StoreError, match=r"has no manifest.json; it is not a whole store"):
        Store(Path("scratch/s"))


def test_finishing_with_rows_wanting_is_refused() -> None:
    writer = StoreWriter(Path("scratch/s"), identity(), SPECS)
    fill(writer, 3)

    with pytest.raises(StoreError, match="train/a has 24 rows; it should have 50"):
        writer.finish(LABELS, Path("s"))


def test_checksums_are_read_once_and_again_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    store = made("store", identity())
    Store(store)
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.manifest.checksum", lambda path: pytest.fail(f"{path} was read again"))
        Store(store)
    shutil.copytree(store, "copy")

    (Path("copy") / "zarr.json").write_text((store / "zarr.json").read_text().replace('"m"', '"n"'))

    with pytest.raises(StoreError, match=r"copy: zarr.json does not match its checksum"):
        Store(Path("copy"))


def test_a_store_of_something_else_is_refused() -> None:
    store = Store(made("store", identity()))

    with pytest.raises(StoreError, match="store: its weights is w; expected other: run dvc repro"):
        store.expect(inputs="i", weights="other")


def test_a_cut_that_was_not_kept_is_named() -> None:
    with pytest.raises(StoreError, match=r"store: holds no c; it has a, b\.0"):
        Store(made("store", identity())).rows("train", "c")


def test_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = made("store", identity())
    monkeypatch.setattr("pipeline.store.FORMAT", 2)

    with pytest.raises(StoreError, match="has another format than 2"):
        Store(store)


def test_float16_overflow_is_noticed() -> None:
    spec = Spec("train", "a", 2, (2,))
    writer = StoreWriter(Path("scratch/s"), identity(dtype="float16"), [spec])

    with pytest.raises(StoreError, match=r"train/a: 7e\+04 overflows float16, which ends at 65504"):
        writer.write("train", 0, {"a": np.array([[1, 2], [3, 70_000]], np.float32)})


def test_activations_that_are_not_finite_are_refused() -> None:
    writer = StoreWriter(Path("scratch/s"), identity(), [Spec("train", "a", 1, (2,))])

    with pytest.raises(StoreError, match="train/a: activations are not finite"):
        writer.write("train", 0, {"a": np.array([[1, np.nan]], np.float32)})


def test_layouts_are_read_by_their_own_readers() -> None:
    assert isinstance(Store(made("raw", identity())).rows("test", "a"), RawRows)
    assert isinstance(Store(made("packed", identity("packed"))).rows("test", "a"), PackedRows)


def test_a_missing_chunk_reads_as_nan_in_other_libraries() -> None:
    store = made("store", identity())
    remove(store / "train/a/c/0/0/0")

    rows = zarr.open_array(store / "train/a", mode="r")[:]

    assert np.isnan(rows[:4]).all()  # type: ignore[index]


def test_large_numbers_whose_sum_overflows_are_stored_as_they_are() -> None:
    spec, rows = Spec("test", "a", SAMPLES, (2,)), np.full((SAMPLES, 2), 3e38, np.float32)
    writer = StoreWriter(Path("scratch"), identity(), [spec])
    writer.write("test", 0, {"a": rows})
    writer.finish({"test": LABELS["test"]}, Path("large"))

    assert np.array_equal(Store(Path("large")).rows("test", "a").read(0, SAMPLES), rows)


@pytest.mark.parametrize("wanted", [[-1], [0, SAMPLES]])
def test_a_row_that_no_sample_has_is_not_read(wanted: list[int]) -> None:
    with pytest.raises(IndexError, match=f"are wanted of {SAMPLES}"):
        Store(made("raw", identity())).rows("test", "a").take(np.array(wanted))
