"""Batches from stores: every row once an epoch, whatever fits in memory."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline import chunking, reading
from pipeline.reading import MixedRuns, batches_of
from pipeline.store import Identity, Spec, Store, StoreWriter

CPU = torch.device("cpu")
SAMPLES = 300


def store(layout: str) -> Store:
    spec = Spec("train", "a", SAMPLES, (2,))
    stamp = Identity("m", 0, "d", "w", "i", {"train": "x"}, layout, "float32")  # type: ignore[arg-type]
    writer = StoreWriter(Path("scratch"), stamp, [spec])
    rows = np.stack([np.arange(SAMPLES), -np.arange(SAMPLES)], 1).astype(np.float32)
    writer.write("train", 0, {"a": rows})
    writer.finish({"train": np.arange(SAMPLES)}, Path(layout))
    return Store(Path(layout))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "RAW_TARGET", 1000)
    monkeypatch.setattr(reading, "RUN", 16)


@pytest.mark.parametrize("layout", ["raw", "packed"])
@pytest.mark.parametrize("memory", [10**9, 1000])
def test_every_row_comes_once_an_epoch_with_its_own_label(layout: str, memory: int) -> None:
    opened = store(layout)
    feed = batches_of(opened.rows("train", "a"), opened.labels("train"), memory, CPU)

    epochs = [list(feed.epoch(0, epoch, 8)) for epoch in (0, 0, 1)]

    for batches in epochs:
        rows = torch.cat([inputs for inputs, _ in batches])
        labels = torch.cat([labels for _, labels in batches])
        assert sorted(labels.tolist()) == list(range(SAMPLES))
        assert torch.equal(rows, torch.stack([labels, -labels], 1).float())
    orders = [torch.cat([labels for _, labels in batches]).tolist() for batches in epochs]
    assert orders[0] == orders[1] != orders[2]


def test_what_does_not_fit_of_a_packed_store_is_mixed_beyond_its_runs() -> None:
    opened = store("packed")
    feed = batches_of(opened.rows("train", "a"), opened.labels("train"), 1000, CPU)

    first = next(iter(feed.epoch(0, 0, 32)))[1]

    assert isinstance(feed, MixedRuns)
    assert len(set((first // 16).tolist())) > 4


def test_rows_are_copies_and_never_the_mapped_file() -> None:
    opened = store("raw")
    rows = reading.tensor(opened.rows("train", "a").read(0, 4), CPU)

    rows += 1

    assert opened.rows("train", "a").read(0, 4)[0, 0] == 0
