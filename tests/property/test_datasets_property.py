"""What holds of every dataset, whatever its options."""

import gzip
import math
import struct
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from pipeline import registry
from pipeline.datasets import DATASETS, idx
from pipeline.datasets.base import SPLITS, Dataset
from pipeline.datasets.colour_digits import COLOURS, painted, shaded, spread_colours
from pipeline.datasets.drawn import Drawn
from pipeline.datasets.image_folder import decode
from pipeline.datasets.noise import Noise, Pattern
from pipeline.datasets.scrambled import scrambled
from pipeline.datasets.synthetic import Synthetic
from pipeline.errors import DataError

PATTERNS: tuple[Pattern, ...] = ("gaussian", "rademacher", "blobs", "uniform")
DIGITS = {"kind": "digits", "size": 12, "train_fraction": 0.5}
WITHOUT_FILES: list[dict[str, object]] = [
    DIGITS,
    {"kind": "synthetic", "categories": 3, "samples": 10, "size": 6},
    {"kind": "noisy_labels", "source": DIGITS, "share": 0.5},
    {"kind": "grouped_labels", "source": DIGITS, "groups": {"low": list("01234"), "high": list("56789")}},
    *(
        {"kind": "colour_digits", "source": DIGITS, "scheme": scheme}
        for scheme in ("correlated", "digit", "colour", "colour_only", "bw", "mix")
    ),
    *(
        {
            "kind": "noise",
            "pattern": pattern,
            "categories": 2,
            "train": 9,
            "test": 5,
            "channels": 1,
            "size": 12,
            "mean": [0.5],
            "std": [0.5],
        }
        for pattern in PATTERNS
    ),
    {"kind": "renormalised", "source": DIGITS, "mean": [0.5], "std": [0.25]},
    {"kind": "rotated", "source": DIGITS},
    {"kind": "scrambled", "source": DIGITS, "patch": 3},
]
NOWHERE = Path("nowhere")
labels = arrays.arrays(np.int64, st.integers(0, 300), elements=st.integers(0, 9))


def _name(entry: Mapping[str, object]) -> str:
    return str(entry.get("scheme", entry.get("pattern", entry["kind"])))


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_a_frozen_record_without_defaults_in_the_file_of_its_name(name: str) -> None:
    cls = registry.lookup("datasets", DATASETS, name)

    assert cls.__module__ == f"pipeline.datasets.{name}"
    assert issubclass(cls, Dataset)
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert all(field.default is field.default_factory is MISSING for field in fields(cls))
    assert cls.__final__  # type: ignore[attr-defined]


@pytest.mark.parametrize("entry", WITHOUT_FILES, ids=_name)
def test_a_split_keeps_the_contract(entry: Mapping[str, object]) -> None:
    dataset: Dataset = registry.build_kind("d", DATASETS, entry)
    train, test = (dataset.load(NOWHERE, split, seed=0) for split in SPLITS)

    for part in (train, test):
        assert part.pixels.shape == (len(part.ids), *dataset.shape())
        assert part.pixels[:].dtype == np.uint8
        assert part.pixels[:].flags.writeable  # torch warns of arrays that are not
        assert part.labels.dtype == np.int64
        assert set(part.labels) == set(range(len(dataset.classes(NOWHERE))))
        assert len(set(part.ids)) == len(part.ids) == len(part.labels)
    assert set(train.ids).isdisjoint(test.ids)
    assert len(dataset.normalisation().mean) == len(dataset.normalisation().std) == dataset.shape()[0]


@pytest.mark.parametrize("entry", WITHOUT_FILES, ids=_name)
def test_one_seed_gives_the_same_bytes_each_time_and_another_seed_others(entry: Mapping[str, object]) -> None:
    dataset: Dataset = registry.build_kind("d", DATASETS, entry)
    once, again, other = (dataset.load(NOWHERE, "train", seed) for seed in (5, 5, 6))

    assert once.pixels[:].tobytes() == again.pixels[:].tobytes()
    assert (once.labels.tolist(), once.ids) == (again.labels.tolist(), again.ids)
    assert once.pixels[:].tobytes() != other.pixels[:].tobytes()


@given(st.integers(2, 6), st.integers(0, 20), st.integers(0, 20), st.integers(4, 9))
def test_more_synthetic_samples_leave_the_first_as_they_were(kinds: int, few: int, more: int, size: int) -> None:
    small = Synthetic(kinds, kinds + few, size).load(NOWHERE, "train", seed=0)
    large = Synthetic(kinds, kinds + few + more, size).load(NOWHERE, "train", seed=0)

    count = len(small.ids)
    assert np.array_equal(small.pixels[:], large.pixels[:count])
    assert small.ids == large.ids[:count]


@given(st.sampled_from(PATTERNS), st.integers(1, 6), st.integers(0, 6), st.sampled_from([1, 3]))
def test_more_noise_leaves_the_first_as_it_was(pattern: Pattern, few: int, more: int, channels: int) -> None:
    scale = (0.5,) * channels
    small, large = (
        Noise(pattern, 1, count, 1, channels, 5, scale, scale).load(NOWHERE, "train", 0) for count in (few, few + more)
    )

    assert np.array_equal(small.pixels[:], large.pixels[:few])
    assert small.ids == large.ids[:few]


@given(
    st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 9)
)  # fmt: skip
def test_patches_change_places_and_keep_their_insides(c: int, down: int, right: int, side: int, seed: int) -> None:
    assume(down * right > 1)
    image = np.arange(c * down * side * right * side, dtype=np.int64).reshape(c, down * side, right * side)

    def cut(pixels: np.ndarray) -> list[list[int]]:
        return [
            pixels[:, i * side : (i + 1) * side, j * side : (j + 1) * side].ravel().tolist()
            for i in range(down)
            for j in range(right)
        ]

    found = cut(scrambled(image, side, np.random.default_rng(seed)))

    assert found != cut(image)
    assert sorted(found) == sorted(cut(image))


@given(labels, st.integers(0, 9))
def test_uncorrelated_colours_are_shared_out_evenly(digits: np.ndarray, seed: int) -> None:
    colours = spread_colours(digits, np.random.default_rng(seed))

    for digit in range(10):
        counts = np.bincount(colours[digits == digit], minlength=10)
        count = counts.sum()
        share = math.ceil((count - int(0.1 * count)) / 9)
        assert counts[digit] == int(0.1 * count)
        assert np.delete(counts, digit).max() <= share


@given(labels, st.integers(0, 9))
def test_a_shade_is_within_a_tenth_of_its_colour(colours: np.ndarray, seed: int) -> None:
    away = shaded(colours, np.random.default_rng(seed)).astype(float) - COLOURS[colours]

    assert (np.abs(away) <= 26).all()  # 25.5, and what truncation takes
    assert (np.abs(away[COLOURS[colours] == 0]) <= 25).all()


@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 5), st.just(1), st.integers(1, 4), st.integers(1, 4))))
def test_paint_goes_where_there_is_no_ink(ink: np.ndarray) -> None:
    backgrounds = np.arange(3 * len(ink), dtype=np.uint8).reshape(-1, 3)

    pixels = painted(ink, backgrounds)

    for image, digit, background in zip(pixels, ink[:, 0], backgrounds, strict=True):
        assert (image[:, digit > 0] == 255).all()
        assert (image[:, digit == 0] == background[:, None]).all()


@given(arrays.arrays(np.uint8, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)))
def test_an_idx_file_gives_back_what_was_written(values: np.ndarray) -> None:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)

    read = idx.parse(NOWHERE, gzip.compress(header + values.tobytes()))

    assert np.array_equal(read, values)
    assert read.shape == values.shape


@given(st.binary(max_size=40))
def test_an_idx_file_of_any_bytes_is_read_or_refused(content: bytes) -> None:
    for packed in (content, gzip.compress(content)):
        try:
            values = idx.parse(NOWHERE, packed)
        except DataError:
            continue
        assert values.nbytes < len(content)


@pytest.fixture(scope="module")
def decoded(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    folder = tmp_path_factory.mktemp("images")
    for i in range(6):
        Image.new("RGB", (5, 4), (i, 2 * i, 3 * i)).save(folder / f"{i}.png")
    return Drawn((6, 3, 2, 2), lambda row: decode(folder / f"{row}.png", 3, 2))


@settings(max_examples=50)
@given(data=st.data())
def test_images_on_disk_are_indexed_as_an_array_is(decoded: Drawn, data: st.DataObject) -> None:
    whole = np.broadcast_to((np.arange(6)[:, None] * [1, 2, 3])[:, :, None, None], (6, 3, 2, 2))
    index = data.draw(
        st.one_of(
            st.integers(-6, 5),
            st.slices(6),
            st.lists(st.integers(-6, 5), min_size=1).map(np.array),
            arrays.arrays(bool, 6),
        )
    )

    assert np.array_equal(decoded[index], whole[index])
    assert decoded.shape == whole.shape
