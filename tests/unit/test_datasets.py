"""Each kind of dataset on tiny files of its own making, and every refusal word for word."""

import gzip
import hashlib
import os
import pickle
import re
import socket
import struct
import urllib.error
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.stats
import torchvision.datasets
from PIL import Image
from ruamel.yaml import YAML
from sklearn.metrics import mutual_info_score

from pipeline import registry
from pipeline.datasets import DATASETS, files, idx
from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.datasets.cifar10 import CIFAR10
from pipeline.datasets.colour_digits import COLOURS, ColourDigits, Scheme, grey, spread_colours
from pipeline.datasets.digits import Digits
from pipeline.datasets.fashion_mnist import FashionMNIST
from pipeline.datasets.grouped_labels import GroupedLabels
from pipeline.datasets.image_array import ImageArray
from pipeline.datasets.image_folder import ImageFolder
from pipeline.datasets.mnist import MNIST
from pipeline.datasets.noise import Noise, Pattern
from pipeline.datasets.noisy_labels import NoisyLabels
from pipeline.datasets.options import Limit, limited
from pipeline.datasets.resized import Resized
from pipeline.datasets.rotated import TURNS, Rotated
from pipeline.datasets.scrambled import Scrambled, scrambled
from pipeline.datasets.svhn import SVHN
from pipeline.datasets.synthetic import Synthetic
from pipeline.errors import DataError, ParamsError
from pipeline.randomness import generator

NOWHERE = Path("nowhere")
BLACK, HALF, WHITE = (0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)
PLAIN = {"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0]}
FOLDER = {"folder": "x", "train": "train", "test": "val", "categories": None, "resize": 8, "size": 8, **PLAIN}
ARRAY = {"file": "x.npy", "size": 8, "train": 4, "test": 2, **PLAIN}
NOISE = {"pattern": "gaussian", "categories": 2, "train": 4, "test": 4, "channels": 3, "size": 8, **PLAIN}
SCHEMES: tuple[Scheme, ...] = ("correlated", "digit", "colour", "colour_only", "bw", "mix")


# Options


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("digits", {"size": 7, "train_fraction": 0.8}, r"d\.size: is 7; it should be 8 or more"),
        ("digits", {"size": 8, "train_fraction": 1.0}, r"d\.train_fraction: is 1; it should be from 0.01 to 0.99"),
        ("synthetic", {"categories": 1, "samples": 8, "size": 8}, r"d\.categories: is 1; it should be 2 or more"),
        ("synthetic", {"categories": 4, "samples": 3, "size": 8}, r"d\.samples: is 3; it should be at least the 4"),
        ("synthetic", {"categories": 4, "samples": 8, "size": 3}, r"d\.size: is 3; it should be 4 or more"),
        ("mnist", {"files": "any", "limit": None}, r"d\.files: any is not a known value; choose from official, own"),
        ("mnist", {"files": "own", "limit": {"train": 0, "test": None}}, r"d\.limit"),
        ("cifar10", {"limit": None, **PLAIN, "std": [1.0, 0.0, 1.0]}, r"d\.std: is .*; it should hold numbers above 0"),
        ("svhn", {"limit": None, **PLAIN, "mean": [float("nan"), 0.0, 0.0]}, r"d\.mean: is .*finite"),
        ("svhn", {"limit": None, **PLAIN, "mean": [0.5]}, r"d\.mean: has 1 entries; it should have 3"),
        (
            "noisy_labels",
            {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "share": 0},
            r"d\.share: is 0; it should be above 0, and at most 1",
        ),
        *(
            ("renormalised", {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, **scale}, message)
            for scale, message in (
                ({"mean": [0, 0, 0], "std": [1]}, r"d\.mean: has 3 entries; it should have 1, one for each channel"),
                ({"mean": [0], "std": [0]}, r"d\.std: is .*; it should hold numbers above 0"),
            )
        ),
        (
            "resized",
            {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "size": 3, "channels": 1},
            r"d\.size: is 3; it",
        ),
        (
            "resized",
            {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "size": 8, "channels": 2},
            r"d\.channels: is 2; it",
        ),
        (
            "colour_digits",
            {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "scheme": "grey"},
            r"d\.scheme: grey is not a known value",
        ),
        (
            "colour_digits",
            {"source": {"kind": "svhn", "limit": None, **PLAIN}, "scheme": "bw"},
            r"d\.source: has 3 channels; it should have 1",
        ),
        *(
            ("noise", {**NOISE, **changed}, message)
            for changed, message in (
                (
                    {"pattern": "pink"},
                    r"d\.pattern: pink is not a known value; choose from blobs, gaussian, rademacher",
                ),
                ({"categories": 0}, r"d\.categories: is 0; it should be 1 or more"),
                ({"train": 1}, r"d\.train: is 1; it should be at least the 2 categories"),
                ({"test": 1}, r"d\.test: is 1; it should be at least the 2 categories"),
                ({"channels": 0}, r"d\.channels: is 0; it should be 1 or more"),
                ({"size": 0}, r"d\.size: is 0; it should be 1 or more"),
                ({"mean": [0.5]}, r"d\.mean: has 1 entries; it should have 3, one for each channel"),
                ({"std": [1.0] * 4}, r"d\.std: has 4 entries; it should have 3, one for each channel"),
                ({"std": [1.0, 0.0, 1.0]}, r"d\.std: is .*; it should hold numbers above 0"),
            )
        ),
        *(
            ("scrambled", {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "patch": patch}, message)
            for patch, message in (
                (0, r"d\.patch: is 0; it should be 1 or more"),
                (3, r"d\.patch: is 3; it should cut 8 × 8 into two or more whole patches"),
                (8, r"d\.patch: is 8; it should cut 8 × 8 into two or more whole patches"),
            )
        ),
        *(
            ("image_array", {**ARRAY, **changed}, message)
            for changed, message in (
                ({"file": "../x.npy"}, r"d\.file: is '../x.npy'; it should be a path below"),
                ({"size": 0}, r"d\.size: is 0; it should be 1 or more"),
                ({"test": 0}, r"d\.test: is 0; it should be 1 or more"),
                ({"std": [1.0, 0.0, 1.0]}, r"d\.std: is .*; it should hold numbers above 0"),
            )
        ),
        (
            "grouped_labels",
            {"source": {"kind": "digits", "size": 8, "train_fraction": 0.5}, "groups": {"all": ["0"]}},
            r"d\.groups: are .*; they should be 2 or more",
        ),
        ("image_folder", {**FOLDER, "folder": "../x"}, r"d\.folder: is '../x'; it should be a path below"),
        ("image_folder", {**FOLDER, "folder": "/x"}, r"d\.folder: is '/x'; it should be a path below"),
        ("image_folder", {**FOLDER, "folder": ""}, r"d\.folder: is ''; it should be a path below"),
        ("image_folder", {**FOLDER, "train": "a/../.."}, r"d\.train: is 'a/../..'; it should be a path below"),
        ("image_folder", {**FOLDER, "test": "..\\x"}, r"d\.test: is .*; it should be a path below"),
        ("image_folder", {**FOLDER, "categories": 0}, r"d\.categories: is 0; it should be 1 or more"),
        ("image_folder", {**FOLDER, "categories": ["a", "a"]}, r"d\.categories: is \['a', 'a'\]; it should name"),
        ("image_folder", {**FOLDER, "categories": []}, r"d\.categories: is \[\]; it should name at least one"),
        ("image_folder", {**FOLDER, "size": 0}, r"d\.size: is 0; it should be 1 or more"),
        ("image_folder", {**FOLDER, "resize": 7}, r"d\.resize: is 7; it should be null or at least size, 8"),
    ],
)
def test_options_out_of_range_are_refused_by_name(kind: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        registry.build("d", DATASETS, kind, options)


def test_colour_digits_take_their_source_from_params() -> None:
    entry = {
        "kind": "colour_digits",
        "source": {"kind": "digits", "size": 16, "train_fraction": 0.8},
        "scheme": "correlated",
    }

    assert registry.build_kind("datasets.c", DATASETS, entry) == ColourDigits(Digits(16, 0.8), "correlated")


def test_the_examples_of_the_documentation_can_be_built() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    blocks = [YAML(typ="safe").load(block) for block in re.findall(r"```yaml\n(datasets:.*?)```", page, re.DOTALL)]
    entries = {name: entry for block in blocks for name, entry in block["datasets"].items()}

    built = {name: registry.build_kind(name, DATASETS, entry) for name, entry in entries.items()}

    assert {name: type(dataset).__name__ for name, dataset in built.items()} == {
        "correlated": "ColourDigits",
        "digit": "ColourDigits",
        "by_heart": "NoisyLabels",
        "alive": "GroupedLabels",
        "turned": "Rotated",
        "anything": "ImageArray",
        "pets": "ImageFolder",
        "static": "Noise",
        "shuffled": "Scrambled",
        "photographs": "Resized",
        "mnist": "Renormalised",
    }


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_limit_of_nothing_is_refused(split: str) -> None:
    with pytest.raises(ValueError, match=f"{split}: is 0; it should be 1 or more"):
        Limit(**{"train": None, "test": None, split: 0})


def test_a_limit_takes_the_first_images() -> None:
    whole = Synthetic(3, 9, 4).load(NOWHERE, "train", seed=0)

    some = limited("synthetic", whole, "train", Limit(4, None))

    assert some.ids == whole.ids[:4]
    assert np.array_equal(some.pixels[:], whole.pixels[:4])
    assert np.array_equal(some.labels, whole.labels[:4])
    assert limited("synthetic", whole, "test", Limit(4, None)) is whole


def test_a_limit_beyond_the_source_is_refused() -> None:
    whole = Synthetic(3, 9, 4).load(NOWHERE, "train", seed=0)

    with pytest.raises(DataError, match=r"synthetic: limit.train is 10; there are only 9 images"):
        limited("synthetic", whole, "train", Limit(10, None))


# Digits and synthetic images


def test_digits_of_eight_are_the_embedded_ones() -> None:
    from sklearn.datasets import load_digits

    images, labels = map(np.asarray, load_digits(return_X_y=True))
    split = Digits(8, 0.7).load(NOWHERE, "test", seed=3)
    rows = [int(name.removeprefix("digits/")) for name in split.ids]

    assert np.array_equal(split.pixels[:].reshape(-1, 64), np.rint(images[rows] * 255 / 16))
    assert np.array_equal(split.labels, labels[rows])


def test_digits_are_split_within_each_class_and_follow_the_seed() -> None:
    digits = Digits(8, 0.75)
    train, test = (digits.load(NOWHERE, split, seed=1) for split in ("train", "test"))
    counts = np.bincount(train.labels) / (np.bincount(train.labels) + np.bincount(test.labels))

    assert set(train.ids).isdisjoint(test.ids)
    assert len(train.ids) + len(test.ids) == 1797
    assert np.allclose(counts, 0.75, atol=0.004)
    assert digits.load(NOWHERE, "train", seed=1).ids == train.ids
    assert digits.load(NOWHERE, "train", seed=2).ids != train.ids


def test_upscaled_digits_stay_legible_when_every_inked_pixel_turns_white() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    train, test = (Digits(16, 0.8).load(NOWHERE, split, seed=0) for split in ("train", "test"))
    black_and_white = [np.sign(part.pixels[:].reshape(len(part.ids), -1)) for part in (train, test)]
    score = KNeighborsClassifier(3).fit(black_and_white[0], train.labels).score(black_and_white[1], test.labels)

    assert 0.25 < black_and_white[0].mean() < 0.4  # without wiping off faint ink: 0.64, and a score of 0.89
    assert score > 0.94


def test_digits_are_normalised_by_their_own_mean_and_deviation() -> None:
    digits = Digits(16, 0.8)
    pixels = digits.load(NOWHERE, "train", seed=0).pixels[:] / 255

    assert pixels.mean() == pytest.approx(digits.normalisation().mean[0], abs=0.01)
    assert pixels.std() == pytest.approx(digits.normalisation().std[0], abs=0.01)


def test_synthetic_images_are_near_the_pattern_of_their_class_in_both_splits() -> None:
    train, test = (Synthetic(5, 40, 12).load(NOWHERE, split, seed=0) for split in ("train", "test"))
    means = np.stack([train.pixels[:][train.labels == label].mean(0) for label in range(5)])
    distances = ((test.pixels[:][:, None] - means) ** 2).sum((2, 3, 4))

    assert np.array_equal(distances.argmin(1), test.labels)
    assert not np.array_equal(train.pixels[:], test.pixels[:])


# Colour schemes


@dataclass(frozen=True)
class Strokes(Dataset):
    """Digits of `each` images a class: the left half empty, the right half of one grey level."""

    each: int
    highest: int = 9

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        labels = np.repeat(np.arange(self.highest + 1), self.each)
        pixels = np.zeros((len(labels), 1, 4, 4), np.uint8)
        pixels[:, :, :, 2:] = 1 + labels[:, None, None, None]
        return Labelled(pixels, labels, tuple(f"strokes/{split}/{i}" for i in range(len(labels))))

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple(map(str, range(self.highest + 1)))

    def normalisation(self) -> Normalisation:
        return Normalisation((0.2,), (0.4,))

    def shape(self) -> tuple[int, int, int]:
        return 1, 4, 4


def _nearest(shades: np.ndarray) -> np.ndarray:
    """The colour class of each shade; colours lie further apart than the noise reaches."""
    return np.abs(shades[:, None].astype(int) - COLOURS.astype(int)).max(2).argmin(1)


def test_the_colour_table_is_the_released_one() -> None:
    table = "255 0 0|0 255 0|0 0 255|225 225 0|225 0 225|0 255 255|255 128 0|255 0 128|128 0 255|128 128 128"

    assert "|".join(" ".join(map(str, colour)) for colour in COLOURS) == table


@pytest.mark.parametrize("scheme", ["correlated", "digit", "colour"])
def test_painted_digits_are_white_on_one_flat_colour(scheme: Scheme) -> None:
    pixels = ColourDigits(Strokes(30), scheme).load(NOWHERE, "train", seed=0).pixels[:]

    assert (pixels[:, :, :, 2:] == 255).all()
    assert (pixels[:, :, :, :2] == pixels[:, :, :1, :1]).all()


@pytest.mark.parametrize(
    ("scheme", "follows_colour", "follows_digit"),
    [("correlated", 1.0, 1.0), ("digit", 0.1, 1.0), ("colour", 1.0, 0.1), ("colour_only", 1.0, 1.0)],
)
def test_labels_follow_what_the_scheme_says(scheme: Scheme, follows_colour: float, follows_digit: float) -> None:
    source = Strokes(100)
    coloured = ColourDigits(source, scheme).load(NOWHERE, "train", seed=0)
    colours = _nearest(coloured.pixels[:][:, :, 0, 0])
    digits = source.load(NOWHERE, "train", seed=0).labels

    assert (coloured.labels == colours).mean() == pytest.approx(follows_colour)
    assert (coloured.labels == digits).mean() == pytest.approx(follows_digit)


def test_bare_colours_show_no_digit() -> None:
    pixels = ColourDigits(Strokes(30), "colour_only").load(NOWHERE, "train", seed=0).pixels[:]

    assert (pixels == pixels[:, :, :1, :1]).all()


def test_grey_digits_keep_their_greys_and_their_normalisation() -> None:
    source = Strokes(3)
    dataset = ColourDigits(source, "bw")
    pixels = dataset.load(NOWHERE, "train", seed=0).pixels[:]

    assert (pixels == source.load(NOWHERE, "train", seed=0).pixels[:]).all()
    assert dataset.normalisation() == Normalisation((0.2,) * 3, (0.4,) * 3)
    assert ColourDigits(MNIST("official", None), "bw").normalisation() == Normalisation((0.1307,) * 3, (0.3081,) * 3)


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme != "bw"])
def test_coloured_digits_are_normalised_by_one_half(scheme: Scheme) -> None:
    assert ColourDigits(Strokes(3), scheme).normalisation() == Normalisation(HALF, HALF)


def test_the_mix_has_a_third_of_each_kind() -> None:
    source = Strokes(30)
    mix = ColourDigits(source, "mix").load(NOWHERE, "train", seed=0)
    pixels, ink = mix.pixels[:], source.load(NOWHERE, "train", seed=0).pixels[:]
    is_grey = (pixels == ink).all((1, 2, 3))
    is_bare = (pixels == pixels[:, :, :1, :1]).all((1, 2, 3))
    coloured = _nearest(pixels[:, :, 0, 0]) == mix.labels

    assert is_grey.sum() == is_bare.sum() == 100
    assert coloured[~is_grey].all()
    assert len(set(zip(is_grey[1:], is_grey[:-1], strict=True))) == 4  # in no order, or one class would be left out
    assert (pixels[~is_grey & ~is_bare][:, :, :, 2:] == 255).all()


def test_uncorrelated_colours_have_the_released_counts() -> None:
    counts = np.bincount(spread_colours(np.zeros(980, np.int64), np.random.default_rng(0)), minlength=10)

    # int(98.0) keep their own; the 882 others come to exactly 98 each.
    assert counts.tolist() == [98] * 10
    counts = np.bincount(spread_colours(np.full(1135, 1), np.random.default_rng(0)), minlength=10)
    # int(113.5) keep their own; ceil(1022 / 9) = 114 for eight others and 110 for the last.
    assert counts[1] == 113
    assert sorted(np.delete(counts, 1)) == [110] + [114] * 8


def test_splits_schemes_and_seeds_have_noise_of_their_own() -> None:
    def shades(scheme: Scheme, split: Split, seed: int) -> bytes:
        return ColourDigits(Strokes(20), scheme).load(NOWHERE, split, seed).pixels[:, :, 0, 0].tobytes()

    drawn = [
        shades("correlated", "train", 0),
        shades("correlated", "test", 0),
        shades("colour_only", "train", 0),
        shades("correlated", "train", 1),
    ]

    assert len(set(drawn)) == len(drawn)
    assert shades("correlated", "train", 0) == drawn[0]


def test_a_source_with_more_classes_than_colours_is_refused() -> None:
    with pytest.raises(DataError, match="its source has a class 10; there are colours for 0 to 9 only"):
        ColourDigits(Strokes(1, highest=10), "bw").load(NOWHERE, "train", seed=0)


def test_coloured_digits_name_the_ids_classes_and_missing_files_of_their_source(tmp_path: Path) -> None:
    source = MNIST("official", None)
    dataset = ColourDigits(source, "digit")

    assert ColourDigits(Strokes(1), "digit").load(NOWHERE, "test", 0).ids[3] == "digit/strokes/test/3"
    assert dataset.classes(tmp_path) == source.classes(tmp_path)
    assert list(dataset.missing(tmp_path)) == list(source.missing(tmp_path)) != []


# Resizing


@pytest.mark.parametrize(("size", "channels"), [(8, 3), (5, 3), (12, 3), (8, 1), (5, 1)])
def test_resized_images_are_pillows_to_a_level(size: int, channels: int) -> None:
    source = Synthetic(categories=3, samples=7, size=8)
    whole, found = source.load(NOWHERE, "test", 0), Resized(source, size, channels).load(NOWHERE, "test", 0)
    images = [Image.fromarray(np.moveaxis(pixels, 0, -1)) for pixels in np.array(whole.pixels[:])]
    mode = "L" if channels == 1 else "RGB"
    wanted = [np.asarray(image.convert(mode).resize((size, size), Image.Resampling.BILINEAR)) for image in images]

    assert found.pixels.shape == (7, channels, size, size)
    for pixels, image in zip(found.pixels[:], wanted, strict=True):
        assert np.abs(pixels.astype(int) - np.moveaxis(image.reshape(size, size, -1), -1, 0)).max() <= 1
    assert np.array_equal(found.labels, whole.labels)
    assert found.ids == tuple(f"{size}x{channels}/{name}" for name in whole.ids)


def test_grey_images_become_three_equal_channels_and_keep_their_normalisation() -> None:
    source = Digits(size=8, train_fraction=0.5)
    dataset = Resized(source, 8, 3)
    pixels, own = dataset.load(NOWHERE, "test", 0).pixels[:], source.normalisation()

    assert np.array_equal(pixels, grey(source.load(NOWHERE, "test", 0).pixels[:]))
    assert dataset.shape() == (3, 8, 8)
    assert dataset.normalisation() == Normalisation(own.mean * 3, own.std * 3)
    assert dataset.classes(NOWHERE) == source.classes(NOWHERE)


def test_one_channel_is_normalised_by_the_mean_of_three() -> None:
    found = Resized(CIFAR10(None, (0.1, 0.2, 0.3), (0.2, 0.2, 0.5)), 28, 1).normalisation()

    assert (found.mean, found.std) == (pytest.approx((0.2,)), pytest.approx((0.3,)))


# Noise, and images out of order


def _noise(pattern: Pattern, channels: int = 3, size: int = 32, seed: int = 0) -> np.ndarray:
    scale = (0.5,) * channels
    return Noise(pattern, 1, 60, 1, channels, size, scale, scale).load(NOWHERE, "train", seed).pixels[:] / 255


def test_gaussian_noise_is_normal_between_black_and_white() -> None:
    """Its quantiles between the two ends are SciPy's; beyond them lies Φ(-2) on each side."""
    found, inner = _noise("gaussian").ravel(), [0.05, 0.3, 0.5, 0.9, 0.95]

    assert np.quantile(found, inner) == pytest.approx(scipy.stats.norm(0.5, 0.25).ppf(inner), abs=0.006)
    for end in (0, 1):
        assert np.mean(found == end) == pytest.approx(scipy.stats.norm.cdf((0.5 / 255 - 0.5) / 0.25), abs=0.002)


def test_rademacher_noise_is_black_or_white_and_uniform_noise_any_level() -> None:
    both, all_levels = (_noise(pattern).ravel() for pattern in ("rademacher", "uniform"))

    assert set(both) == {0, 1}
    assert both.mean() == pytest.approx(0.5, abs=0.005)
    counts = np.bincount(np.rint(all_levels * 255).astype(int), minlength=256)
    assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_pixels_of_noise_but_of_blobs_have_nothing_in_common() -> None:
    def along(pattern: Pattern) -> float:
        pixels = _noise(pattern)
        return np.corrcoef(pixels[:, :, :, 1:].ravel(), pixels[:, :, :, :-1].ravel())[0, 1]

    for pattern in ("gaussian", "rademacher", "uniform"):
        assert abs(along(pattern)) < 0.01
    assert along("blobs") > 0.5


@pytest.mark.parametrize("channels", [1, 3])
def test_blobs_are_blurred_points_with_a_definite_edge(channels: int) -> None:
    """The share above 0.75 is that of other points, under a Gaussian kernel that is written out."""
    found = _noise("blobs", channels)
    taps = np.exp(-(np.arange(-6, 7) ** 2) / (2 * 1.5**2))
    taps /= taps.sum()
    smooth = (np.random.default_rng(5).random((60, channels, 32, 32)) < 0.7).astype(float)
    for axis in (1, 2, 3):
        padded = np.pad(smooth, [(6, 6) if each == axis else (0, 0) for each in range(4)], mode="edge")
        smooth = np.apply_along_axis(lambda line: np.convolve(line, taps, "valid"), axis, padded)

    assert ((found == 0) | (found > 0.74)).all()
    assert np.mean(found > 0) == pytest.approx(np.mean(smooth >= 0.75), abs=0.03)
    assert found[found > 0].mean() == pytest.approx(smooth[smooth >= 0.75].mean(), abs=0.01)


def test_noise_of_each_split_pattern_and_seed_is_its_own() -> None:
    data = Noise("uniform", 3, 6, 6, 3, 8, HALF, HALF)
    others = [data.load(NOWHERE, "test", 0), data.load(NOWHERE, "train", 1)]
    train = data.load(NOWHERE, "train", 0)

    assert all(not np.array_equal(other.pixels[:], train.pixels[:]) for other in others)
    assert not np.array_equal(_noise("gaussian") > 0.5, _noise("rademacher") > 0.5)
    assert train.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert (train.ids[1], others[0].ids[1]) == ("noise/uniform/train/00001", "noise/uniform/test/00001")
    assert data.classes(NOWHERE) == ("noise0", "noise1", "noise2")
    assert data.normalisation() == Normalisation(HALF, HALF)


def test_noise_is_drawn_only_when_asked_for() -> None:
    """As much of it as no memory holds."""
    train = Noise("uniform", 1, 10**6, 1, 3, 1000, HALF, HALF).load(NOWHERE, "train", 0)

    assert train.pixels.shape == (10**6, 3, 1000, 1000)
    assert train.pixels[10**6 - 1 :].shape == (1, 3, 1000, 1000)


@pytest.mark.parametrize("patch", [1, 4])
def test_scrambled_images_keep_their_pixels_labels_and_scale(patch: int) -> None:
    source = Synthetic(categories=3, samples=7, size=8)
    dataset = Scrambled(source, patch)
    whole, found = source.load(NOWHERE, "test", 0), dataset.load(NOWHERE, "test", 0)

    for own, image in zip(whole.pixels[:], found.pixels[:], strict=True):
        assert not np.array_equal(own, image)
        colours = [sorted(map(tuple, pixels.reshape(3, -1).T.tolist())) for pixels in (own, image)]
        assert colours[0] == colours[1]
    assert np.array_equal(found.labels, whole.labels)
    assert found.ids == tuple(f"scrambled{patch}/{name}" for name in whole.ids)
    assert (dataset.shape(), dataset.normalisation()) == (source.shape(), source.normalisation())
    assert dataset.classes(NOWHERE) == source.classes(NOWHERE)


def test_an_image_is_scrambled_alike_whatever_others_there_are() -> None:
    few, many = (Scrambled(Synthetic(2, count, 8), 2).load(NOWHERE, "train", 0) for count in (3, 9))
    one, other = many.pixels[0], Scrambled(Synthetic(2, 9, 8), 2).load(NOWHERE, "train", 1).pixels[0]

    assert np.array_equal(few.pixels[:], many.pixels[:3])
    assert not np.array_equal(one, other)


def test_each_image_is_scrambled_in_an_order_of_its_own() -> None:
    orders = {scrambled(np.arange(16).reshape(1, 4, 4), 1, generator(0, name)).tobytes() for name in "abcdefgh"}

    assert len(orders) == 8


def test_what_a_scrambled_source_misses_is_missed(tmp_path: Path) -> None:
    source = MNIST("official", None)

    assert list(Scrambled(source, 7).missing(tmp_path)) == list(source.missing(tmp_path)) != []
    assert Scrambled(source, 7).downloads()


# Noisy labels


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_share_of_the_training_labels_is_drawn_anew_from_all_classes(share: float) -> None:
    """So (1 - 1 / 4) of the share changes, within five deviations of the binomial; and nothing else."""
    source = Synthetic(categories=4, samples=4000, size=4)
    noisy = NoisyLabels(source, share)
    whole, found = source.load(NOWHERE, "train", 0), noisy.load(NOWHERE, "train", 0)

    changed = found.labels != whole.labels

    assert changed.mean() == pytest.approx(0.75 * share, abs=5 * (0.1875 * share / 4000) ** 0.5)
    assert np.count_nonzero(changed) <= share * 4000
    assert np.bincount(found.labels[changed]) == pytest.approx(changed.sum() / 4, rel=0.25)
    assert np.array_equal(found.pixels[:], whole.pixels[:])
    assert found.ids == tuple(f"noisy{share:g}/{name}" for name in whole.ids)
    assert np.array_equal(noisy.load(NOWHERE, "test", 0).labels, source.load(NOWHERE, "test", 0).labels)
    assert (noisy.shape(), noisy.normalisation()) == (source.shape(), source.normalisation())


def test_labels_that_are_all_drawn_anew_say_nothing_of_the_class_and_follow_the_seed() -> None:
    """Mutual information of the two tables of labels, against what 16 cells of 4,000 draws have by chance."""
    source = Synthetic(categories=4, samples=4000, size=4)
    whole = source.load(NOWHERE, "train", 0)
    one, again, other = (NoisyLabels(source, 1.0).load(NOWHERE, "train", seed).labels for seed in (0, 0, 1))

    assert mutual_info_score(whole.labels, one) < 5 * 9 / (2 * 4000)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


# Grouped labels


def test_groups_rename_the_classes_of_their_source() -> None:
    source = Synthetic(categories=4, samples=40, size=4)
    grouped = GroupedLabels(source, {"odd": ("pattern1", "pattern3"), "even": ("pattern0", "pattern2")})

    whole, found = source.load(NOWHERE, "test", 0), grouped.load(NOWHERE, "test", 0)

    assert grouped.classes(NOWHERE) == ("odd", "even")
    assert found.labels.tolist() == [0 if label % 2 else 1 for label in whole.labels]
    assert np.array_equal(found.pixels[:], whole.pixels[:])
    assert found.ids == tuple(f"grouped/{name}" for name in whole.ids)
    assert (grouped.shape(), grouped.normalisation()) == (source.shape(), source.normalisation())


def test_every_image_comes_in_four_turns_and_is_called_by_its_turn() -> None:
    source = Synthetic(categories=3, samples=5, size=4)

    whole, found = source.load(NOWHERE, "test", 0), Rotated(source).load(NOWHERE, "test", 0)

    assert found.labels.tolist() == [0, 1, 2, 3] * 5
    assert found.ids[4:8] == tuple(f"rotated/{turn}/{whole.ids[1]}" for turn in TURNS)
    image = whole.pixels[1]
    for row in range(4, 8):
        assert np.array_equal(found.pixels[row], image)
        image = image[:, :, ::-1].transpose(0, 2, 1)  # a quarter against the clock: mirrored, then transposed
    assert np.array_equal(image, whole.pixels[1])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ("pattern0", "pattern9"), "b": ("pattern1",)}, "groups: name pattern9, which is no class; did you mean"),
        ({"a": ("pattern0",), "b": ("pattern1",)}, "groups: do not name pattern2 once; each class should be in one"),
        ({"a": ("pattern0", "pattern1"), "b": ("pattern1", "pattern2")}, "groups: do not name pattern1 once"),
    ],
)
def test_groups_that_are_no_partition_of_the_classes_are_refused(groups: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        GroupedLabels(Synthetic(categories=3, samples=9, size=4), groups).load(NOWHERE, "train", 0)


# Arrays of images


def array(count: int, **changes: object) -> ImageArray:
    return registry.build("d", DATASETS, "image_array", {**ARRAY, "train": count - 2, **changes})


def test_an_array_gives_its_first_images_to_train_and_the_next_to_test(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(256, size=(9, 8, 8, 3), dtype=np.uint8)
    np.save(tmp_path / "x.npy", images)

    train, test = (array(7).load(tmp_path, split, 0) for split in ("train", "test"))

    assert np.array_equal(train.pixels[:], images[:5].transpose(0, 3, 1, 2))
    assert np.array_equal(test.pixels[:], images[5:7].transpose(0, 3, 1, 2))
    assert (train.ids[0], test.ids[-1]) == ("x.npy/000000", "x.npy/000006")
    assert list(array(7).missing(tmp_path)) == []
    assert array(7).shape() == (3, 8, 8)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((9, 8, 8, 3), np.float32), r"x.npy: holds 9 × 8 × 8 × 3 of float32; it should be N × 8 × 8 × 3 of"),
        (np.zeros((9, 3, 8, 8), np.uint8), r"x.npy: holds 9 × 3 × 8 × 8 of uint8; it should be N × 8 × 8 × 3"),
        (np.zeros((6, 8, 8, 3), np.uint8), r"x.npy: holds 6 images; train and test ask for 7"),
        (np.array([{}], object), r"x.npy: is no array as numpy.save writes it: .*; put one there"),
    ],
)
def test_an_array_of_something_else_is_refused(images: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", images, allow_pickle=True)

    with pytest.raises(DataError, match=message):
        array(7).load(tmp_path, "train", 0)


def test_an_array_that_is_not_there_is_named(tmp_path: Path) -> None:
    (found,) = array(7).missing(tmp_path)

    assert found.endswith("x.npy: no such file; put it there")


# MNIST and Fashion-MNIST


def _idx(values: np.ndarray, kind: int = 8) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, kind, values.ndim, *values.shape)
    return gzip.compress(header + values.astype(np.uint8).tobytes(), mtime=0)


def _write_mnist(root: Path, folder: str, count: int = 12) -> dict[str, bytes]:
    """The four files of a small MNIST, by their names; each image is of one level, its place."""
    written = {}
    for stem in ("train", "t10k"):
        images = np.broadcast_to(np.arange(count)[:, None, None], (count, 28, 28))
        written[f"{stem}-images-idx3-ubyte.gz"] = _idx(images)
        written[f"{stem}-labels-idx1-ubyte.gz"] = _idx(np.arange(count) % 10)
    (root / folder / "raw").mkdir(parents=True)
    for name, packed in written.items():
        (root / folder / "raw" / name).write_bytes(packed)
    return written


def _publish(monkeypatch: pytest.MonkeyPatch, contents: dict[str, bytes]) -> None:
    """Let torchvision's checksums of MNIST be those of `contents`."""
    listed = [(name, hashlib.md5(packed).hexdigest()) for name, packed in contents.items()]
    monkeypatch.setattr(torchvision.datasets.MNIST, "resources", listed)


def _no_network(*arguments: object, **options: object) -> None:
    raise urllib.error.URLError("no\nroute")


def test_published_mnist_files_are_read_where_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _publish(monkeypatch, _write_mnist(tmp_path, "MNIST"))
    before = sorted(tmp_path.rglob("*"))

    test = MNIST("official", Limit(None, 11)).load(tmp_path, "test", seed=0)

    assert test.pixels.shape == (11, 1, 28, 28)
    assert test.pixels[:].flags.writeable  # torch warns of arrays that are not
    assert (test.pixels[10] == 10).all()
    assert test.labels.tolist() == [*range(10), 0]
    assert test.ids[10] == "mnist/test/00010"
    assert sorted(tmp_path.rglob("*")) == before


def test_files_that_are_not_the_published_ones_are_refused(tmp_path: Path) -> None:
    _write_mnist(tmp_path, "FashionMNIST")

    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz: is not the published file, by its md5"):
        FashionMNIST("official", None).load(tmp_path, "train", seed=0)


def test_own_files_are_read_under_ids_of_their_own(tmp_path: Path) -> None:
    _write_mnist(tmp_path, "FashionMNIST")
    dataset = FashionMNIST("own", None)

    assert dataset.load(tmp_path, "train", seed=0).ids[2] == "own_fashion_mnist/train/00002"
    assert list(dataset.missing(tmp_path)) == []


def test_a_missing_published_file_is_named_when_the_download_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idx, "download_url", _no_network)
    wanted = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte.gz"

    with pytest.raises(DataError) as caught:
        MNIST("official", None).load(tmp_path, "train", seed=0)
    assert str(caught.value) == (
        f"{wanted}: no such file, and the download failed (<urlopen error no route>); put it there, or name the folder "
        "that has it in BACKSTITCH_DATA_ROOT or data.root"
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file() or path.name.startswith("tmp")] == []


def test_a_missing_file_of_ones_own_is_named_and_never_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idx, "download_url", lambda *_: pytest.fail("downloaded"))

    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte.gz: no such file; put your own file there"):
        MNIST("own", None).load(tmp_path, "test", seed=0)


def test_a_missing_published_file_is_fetched_from_the_first_mirror_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = _write_mnist(tmp_path / "elsewhere", "MNIST")
    asked = []

    def download(url: str, folder: str, name: str, md5: str) -> None:
        asked.append(url)
        if url.startswith("http://down"):
            raise urllib.error.URLError("down")
        (Path(folder) / name).write_bytes(contents[name])

    _publish(monkeypatch, contents)
    monkeypatch.setattr(torchvision.datasets.MNIST, "mirrors", ["http://down/", "http://up/", "http://spare/"])
    monkeypatch.setattr(idx, "download_url", download)

    assert len(MNIST("official", None).load(tmp_path, "train", seed=0).ids) == 12
    assert [url.split("/")[2] for url in asked] == ["down", "up"] * 2
    fetched = tmp_path / "MNIST" / "raw"
    assert sorted(path.name for path in fetched.iterdir()) == sorted(name for name in contents if "train" in name)


@pytest.mark.parametrize(
    ("name", "packed", "message"),
    [
        ("images", b"not gzip", "is not a whole gzipped IDX file"),
        ("images", _idx(np.zeros((12, 28, 28)))[:-12], "is not a whole gzipped IDX file"),
        ("images", gzip.compress(struct.pack(">HBB3I", 0, 8, 3, 12, 28, 28)), "is not a whole gzipped IDX file"),
        ("images", gzip.compress(b""), "is not a whole gzipped IDX file"),
        ("images", _idx(np.zeros((12, 28, 28)), kind=13), "holds IDX type 13; it should hold bytes"),
        ("images", _idx(np.zeros((12, 14, 14))), r"images \(12, 14, 14\).*should be \(N, 28, 28\)"),
        ("labels", _idx(np.zeros(11)), r"labels \(11,\)"),
        ("labels", _idx(np.full(12, 10)), "up to 10; they should be"),
    ],
)
def test_damaged_files_of_ones_own_are_refused(tmp_path: Path, name: str, packed: bytes, message: str) -> None:
    _write_mnist(tmp_path, "MNIST")
    next((tmp_path / "MNIST" / "raw").glob(f"train-{name}*")).write_bytes(packed)

    with pytest.raises(DataError, match=message):
        MNIST("own", None).load(tmp_path, "train", seed=0)


# Fetching


def test_the_network_may_not_stay_silent_for_ever(tmp_path: Path) -> None:
    seen = []

    files.fetch(tmp_path, ["a"], lambda: seen.append(socket.getdefaulttimeout()))

    assert seen == [files.SILENCE]
    assert socket.getdefaulttimeout() is None


def test_nothing_is_fetched_when_all_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    files.fetch(tmp_path, ["a"], lambda: pytest.fail("fetched"))


def test_a_bug_in_a_download_is_not_taken_for_a_failed_download(tmp_path: Path) -> None:
    def broken() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        files.fetch(tmp_path, ["a"], broken)
    assert socket.getdefaulttimeout() is None


@pytest.mark.parametrize(
    ("dataset", "names"),
    [
        (
            MNIST("official", None),
            [f"MNIST/raw/{s}-{k}-ubyte.gz" for s in ("train", "t10k") for k in ("images-idx3", "labels-idx1")],
        ),
        (
            CIFAR10(None, BLACK, WHITE),
            [
                f"cifar-10-batches-py/{name}"
                for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta")
            ],
        ),
        (SVHN(None, BLACK, WHITE), ["train_32x32.mat", "test_32x32.mat"]),
    ],
)
def test_missing_names_every_file_and_where_it_goes(tmp_path: Path, dataset: Dataset, names: list[str]) -> None:
    assert list(dataset.missing(tmp_path)) == [f"{tmp_path / name}: no such file; {files.FETCH}" for name in names]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list(dataset.missing(tmp_path)) == []


@pytest.mark.parametrize("dataset", [Digits(8, 0.5), Synthetic(2, 2, 4), Noise("blobs", 1, 1, 1, 3, 4, HALF, HALF)])
def test_datasets_without_files_miss_nothing(dataset: Dataset) -> None:
    assert list(dataset.missing(NOWHERE)) == []


# CIFAR-10 and SVHN


def _write_cifar(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CIFAR-10 of two images a file, published with these files' checksums."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir()

    def write(name: str, content: dict[str, object]) -> list[str]:
        (folder / name).write_bytes(pickle.dumps(content))
        return [name, hashlib.md5((folder / name).read_bytes()).hexdigest()]

    def batch(number: int) -> dict[str, object]:
        planes = np.repeat(np.array([[1, 2, 3], [4, 5, 6]], np.uint8) + 10 * number, 32 * 32, axis=1)
        return {"data": planes, "labels": [number, 9]}

    source = torchvision.datasets.CIFAR10
    monkeypatch.setattr(source, "train_list", [write(f"data_batch_{i}", batch(i)) for i in range(1, 6)])
    monkeypatch.setattr(source, "test_list", [write("test_batch", batch(6))])
    name, md5 = write("batches.meta", {"label_names": ["x"] * 10})
    monkeypatch.setattr(source, "meta", {"filename": name, "key": "label_names", "md5": md5})
    return folder


def test_cifar_images_keep_their_order_and_channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_cifar(tmp_path, monkeypatch)
    dataset = CIFAR10(Limit(3, None), (0.1, 0.2, 0.3), (1.0, 1.0, 1.0))

    train = dataset.load(tmp_path, "train", seed=0)

    assert train.pixels.shape == (3, *dataset.shape())
    assert train.pixels[:][:, :, 0, 0].tolist() == [[11, 12, 13], [14, 15, 16], [21, 22, 23]]
    assert train.labels.tolist() == [1, 9, 2]
    assert train.ids == ("cifar10/train/00000", "cifar10/train/00001", "cifar10/train/00002")
    assert dataset.normalisation() == Normalisation((0.1, 0.2, 0.3), (1.0, 1.0, 1.0))


@pytest.mark.parametrize("name", ["data_batch_2", "test_batch", "batches.meta"])
def test_a_damaged_cifar_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = _write_cifar(tmp_path, monkeypatch)
    (folder / name).write_bytes((folder / name).read_bytes()[:-1] + b"x")

    with pytest.raises(DataError, match=f"{name}: is not the published file, by its md5"):
        CIFAR10(None, BLACK, WHITE).load(tmp_path, "train", seed=0)


def test_a_missing_cifar_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (_write_cifar(tmp_path, monkeypatch) / "data_batch_4").unlink()
    monkeypatch.setattr(torchvision.datasets.CIFAR10, "download", _no_network)

    with pytest.raises(DataError, match=r"data_batch_4: no such file, and the download failed"):
        CIFAR10(None, BLACK, WHITE).load(tmp_path, "train", seed=0)


def _write_svhn(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = root / "test_32x32.mat"
    pixels = np.broadcast_to(np.array([[1, 4], [2, 5], [3, 6]], np.uint8), (32, 32, 3, 2))
    scipy.io.savemat(path, {"X": pixels, "y": np.array([[10], [7]], np.uint8)})
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    listed = {**torchvision.datasets.SVHN.split_list, "test": ["http://nowhere/", path.name, md5]}
    monkeypatch.setattr(torchvision.datasets.SVHN, "split_list", listed)
    return path


def test_svhn_calls_a_zero_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_svhn(tmp_path, monkeypatch)
    dataset = SVHN(None, HALF, HALF)

    test = dataset.load(tmp_path, "test", seed=0)

    assert test.labels.tolist() == [0, 7]
    assert test.pixels.shape == (2, *dataset.shape())
    assert test.pixels[:][:, :, 0, 0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert test.ids == ("svhn/test/00000", "svhn/test/00001")
    assert dataset.normalisation() == Normalisation(HALF, HALF)
    assert dataset.classes(tmp_path)[test.labels[1]] == "7"


def test_a_damaged_svhn_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_svhn(tmp_path, monkeypatch).write_bytes(b"x")

    with pytest.raises(DataError, match=r"test_32x32.mat: is not the published file, by its md5"):
        SVHN(None, BLACK, WHITE).load(tmp_path, "test", seed=0)


def test_a_missing_svhn_file_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write_svhn(tmp_path, monkeypatch)
    content = path.read_bytes()
    path.unlink()
    monkeypatch.setattr(torchvision.datasets.SVHN, "download", lambda _: path.write_bytes(content))

    assert len(SVHN(None, BLACK, WHITE).load(tmp_path, "test", seed=0).ids) == 2


def test_a_missing_svhn_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchvision.datasets.SVHN, "download", _no_network)

    with pytest.raises(DataError, match=r"train_32x32.mat: no such file, and the download failed"):
        SVHN(None, BLACK, WHITE).load(tmp_path, "train", seed=0)


# Folders of images


def _folder(**changes: object) -> ImageFolder:
    return registry.build("d", DATASETS, "image_folder", {**FOLDER, "folder": "pets", **changes})


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Two classes of images in two splits, of several sizes and modes, with files that are no images."""
    for split in ("train", "val"):
        for label, name in enumerate(("cat", "dog")):
            place = tmp_path / "pets" / split / name
            place.mkdir(parents=True)
            Image.new("RGB", (20, 10), (100 + label, 0, 7)).save(place / "b.png")
            Image.new("L", (8, 30), 50 + label).save(place / "a.PNG")
            (place / "notes.txt").touch()
            (place / "._a.png").touch()
        (tmp_path / "pets" / split / "README").touch()
    return tmp_path


def test_images_come_by_class_and_name_as_three_channels(pets: Path) -> None:
    dataset = _folder()

    test = dataset.load(pets, "test", seed=0)

    assert dataset.classes(pets) == ("cat", "dog")
    assert test.ids == tuple(f"pets/val/{name}" for name in ("cat/a.PNG", "cat/b.png", "dog/a.PNG", "dog/b.png"))
    assert test.labels.tolist() == [0, 0, 1, 1]
    assert test.pixels.shape == (4, *dataset.shape())
    assert test.pixels[:][:, :, 0, 0].tolist() == [[50] * 3, [100, 0, 7], [51] * 3, [101, 0, 7]]


def test_images_are_decoded_only_when_asked_for(pets: Path) -> None:
    (pets / "pets" / "train" / "dog" / "b.png").write_bytes(b"not an image")
    train = _folder().load(pets, "train", seed=0)

    assert len(train.pixels[:3]) == 3
    with pytest.raises(DataError, match=r"pets/train/dog/b.png: cannot be read as an image .*; replace it"):
        train.pixels[3:]


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.95])
def test_a_truncated_image_is_refused(pets: Path, keep: float) -> None:
    path = pets / "pets" / "train" / "cat" / "a.PNG"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])

    with pytest.raises(DataError, match=r"a.PNG: cannot be read as an image"):
        _folder().load(pets, "train", seed=0).pixels[:1]


def test_one_image_has_no_sample_axis(pets: Path) -> None:
    assert _folder().load(pets, "train", seed=0).pixels[1].shape == (3, 8, 8)


def test_images_smaller_than_the_crop_are_refused_where_nothing_is_resized(pets: Path) -> None:
    pixels = _folder(resize=None, size=9).load(pets, "train", seed=0).pixels

    assert pixels[1:2].shape == (1, 3, 9, 9)
    with pytest.raises(DataError, match=r"a.PNG: is 8 × 30; it should be at least 9 each way, or resized"):
        pixels[:1]


@pytest.mark.parametrize(
    ("categories", "names"), [(1, ("cat",)), (["dog", "cat"], ("dog", "cat")), (["dog"], ("dog",)), (2, ("cat", "dog"))]
)
def test_classes_are_the_ones_asked_for_in_that_order(pets: Path, categories: object, names: tuple[str, ...]) -> None:
    dataset = _folder(categories=categories)
    train = dataset.load(pets, "train", seed=0)

    assert dataset.classes(pets) == names
    assert [name.split("/")[2] for name in train.ids] == [names[label] for label in train.labels]


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (3, r"pets/train: has 2 class folders; it should have at least 3"),
        (["dot"], r"pets/train: has no class dot; did you mean dog\?"),
        (["../val/cat"], r"has no class ../val/cat"),
    ],
)
def test_classes_that_are_not_there_are_refused(pets: Path, categories: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _folder(categories=categories).classes(pets)


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pets" / "train").mkdir(parents=True)

    with pytest.raises(DataError, match=r"pets/train: has 0 class folders; it should have at least 1"):
        _folder().classes(tmp_path)


def test_a_class_that_only_one_split_has_is_refused(pets: Path) -> None:
    (pets / "pets" / "train" / "bird").mkdir()

    with pytest.raises(DataError, match=r"pets/val/bird: no such folder; every split should have one"):
        _folder(categories=["bird"]).load(pets, "test", seed=0)
    with pytest.raises(DataError, match=r"pets/train/bird: holds no image; it should hold some, named .bmp"):
        _folder(categories=["bird"]).load(pets, "train", seed=0)


def test_missing_folders_are_named(tmp_path: Path) -> None:
    assert [line.split(": ")[0] for line in _folder().missing(tmp_path)] == [os.fspath(tmp_path / "pets" / "train")]
    with pytest.raises(DataError, match=r"pets/train: no such folder; it should hold a folder of images a class"):
        _folder().load(tmp_path, "test", seed=0)


def test_folders_that_are_there_are_not_missed(pets: Path) -> None:
    assert list(_folder().missing(pets)) == []


def test_the_split_may_lie_in_the_folder_of_raw_files_itself(pets: Path) -> None:
    train = _folder(folder=".", train="pets/train").load(pets, "train", seed=0)

    assert train.ids[0] == "pets/train/cat/a.PNG"
