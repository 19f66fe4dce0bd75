"""Datasets against answers found another way.

Files are read a second time by means that the loaders do not use, where BACKSTITCH_DATA_ROOT says
they are; noise is held to the normal distribution, and image sizes to torchvision's transforms.
"""

import gzip
import hashlib
import math
import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from PIL import Image
from torchvision.transforms import v2

from pipeline.datasets.base import SPLITS, Split
from pipeline.datasets.cifar10 import CIFAR10
from pipeline.datasets.colour_digits import ColourDigits, shaded
from pipeline.datasets.fashion_mnist import FashionMNIST
from pipeline.datasets.image_folder import ImageFolder, decode
from pipeline.datasets.mnist import MNIST
from pipeline.datasets.options import Limit
from pipeline.errors import DataError

HALVES = (0.5, 0.5, 0.5)


@pytest.fixture(scope="module")
def raw() -> Path:
    """The folder of raw files."""
    root = os.environ.get("BACKSTITCH_DATA_ROOT")
    if not root:
        pytest.skip("BACKSTITCH_DATA_ROOT names no folder of raw files")
    return Path(root)


def _need(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"BACKSTITCH_DATA_ROOT holds no {path.name}")
    return path


def _bytes_after_header(path: Path, header: int) -> np.ndarray:
    with gzip.open(_need(path)) as file:
        return np.frombuffer(file.read()[header:], np.uint8)


# The published files


@pytest.mark.parametrize(("split", "stem", "count"), [("train", "train", 60_000), ("test", "t10k", 10_000)])
def test_mnist_is_what_the_files_hold(raw: Path, split: Split, stem: str, count: int) -> None:
    """An IDX header is 4 bytes and 4 more an axis; what follows it is the images, then the labels."""
    folder = raw / "MNIST" / "raw"
    images = _bytes_after_header(folder / f"{stem}-images-idx3-ubyte.gz", 16)
    labels = _bytes_after_header(folder / f"{stem}-labels-idx1-ubyte.gz", 8)

    part = MNIST("official", None).load(raw, split, seed=0)

    assert part.pixels.shape == (count, 1, 28, 28)
    assert np.array_equal(part.pixels[:].ravel(), images)
    assert np.array_equal(part.labels, labels)
    assert part.ids[-1] == f"mnist/{split}/{count - 1:05d}"


def test_mnist_has_the_well_known_mean_and_deviation(raw: Path) -> None:
    """0.1307 and 0.3081 are the constants of PyTorch's own MNIST example."""
    _need(raw / "MNIST")
    pixels = MNIST("official", None).load(raw, "train", seed=0).pixels[:]

    assert round(pixels.mean() / 255, 4) == 0.1307
    assert round(pixels.std() / 255, 4) == 0.3081


def test_a_subset_of_fashion_mnist_passes_for_ones_own_files_only(raw: Path) -> None:
    folder = _need(raw / "FashionMNIST" / "raw")
    images = _bytes_after_header(folder / "t10k-images-idx3-ubyte.gz", 16)
    labels = _bytes_after_header(folder / "t10k-labels-idx1-ubyte.gz", 8)
    md5 = hashlib.md5((folder / "t10k-images-idx3-ubyte.gz").read_bytes()).hexdigest()
    if md5 == "bef4ecab320f06d8554ea6380940ec79":
        pytest.skip("BACKSTITCH_DATA_ROOT holds the published Fashion-MNIST")

    own = FashionMNIST("own", None).load(raw, "test", seed=0)

    assert np.array_equal(own.pixels[:].ravel(), images)
    assert np.array_equal(own.labels, labels)
    with pytest.raises(DataError, match="is not the published file, by its md5"):
        FashionMNIST("official", None).load(raw, "test", seed=0)


def test_cifar_is_what_its_pickles_hold(raw: Path) -> None:
    """The files' rows are 1,024 reds, then greens, then blues, as their authors' page says."""
    folder = _need(raw / "cifar-10-batches-py")
    batches = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
    dataset = CIFAR10(None, HALVES, HALVES)

    for split in SPLITS:
        part = dataset.load(raw, split, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about pickles as old as these
            read = [pickle.loads((folder / name).read_bytes(), encoding="bytes") for name in batches[split]]
        assert np.array_equal(part.pixels[:].reshape(-1, 3072), np.concatenate([batch[b"data"] for batch in read]))
        assert part.labels.tolist() == [label for batch in read for label in batch[b"labels"]]
    names = pickle.loads((folder / "batches.meta").read_bytes(), encoding="utf-8")["label_names"]
    assert dataset.classes(raw) == tuple(names)


def test_limits_take_the_first_of_the_published_images(raw: Path) -> None:
    _need(raw / "MNIST")
    whole = MNIST("official", None).load(raw, "test", seed=0)
    some = MNIST("official", Limit(None, 7)).load(raw, "test", seed=0)

    assert some.ids == whole.ids[:7]
    assert np.array_equal(some.pixels[:], whole.pixels[:7])


# Folders of images


@pytest.mark.parametrize("split", SPLITS)
def test_imagenette_is_what_torchvision_makes_of_it(raw: Path, split: Split) -> None:
    folder = _need(raw / "imagenette160") / {"train": "train", "test": "val"}[split]
    dataset = ImageFolder("imagenette160", "train", "val", None, 160, 128, HALVES, HALVES)
    transform = v2.Compose([v2.Resize(140), v2.CenterCrop(128)])
    resized = ImageFolder("imagenette160", "train", "val", None, 140, 128, HALVES, HALVES)
    listed = sorted(str(path.relative_to(raw)) for path in folder.rglob("*.JPEG"))

    part = dataset.load(raw, split, seed=0)

    assert list(part.ids) == listed
    assert dataset.classes(raw) == tuple(sorted(path.name for path in folder.iterdir()))
    assert part.labels.tolist() == sorted(part.labels.tolist())
    pixels = resized.load(raw, split, seed=0).pixels
    for row in range(0, len(listed), 17):
        expected = np.asarray(transform(Image.open(raw / listed[row]).convert("RGB")))
        assert np.array_equal(pixels[row], expected.transpose(2, 0, 1))


def test_cue_conflict_images_are_found_by_their_shape(raw: Path) -> None:
    folder = _need(raw / "cue_conflict")
    dataset = ImageFolder(".", "cue_conflict", "cue_conflict", None, None, 224, HALVES, HALVES)

    part = dataset.load(raw, "test", seed=0)

    assert len(dataset.classes(raw)) == 16
    assert list(part.ids) == sorted(f"cue_conflict/{path.parent.name}/{path.name}" for path in folder.glob("*/*.*"))
    for row in (0, 40, len(part.ids) - 1):  # names are shapeN-textureM
        shape = Path(part.ids[row]).name.split("-")[0].rstrip("0123456789")
        assert dataset.classes(raw)[part.labels[row]] == shape
        opened = np.asarray(Image.open(raw / part.ids[row]).convert("RGB"))
        assert np.array_equal(part.pixels[row].transpose(1, 2, 0), opened)


@pytest.mark.parametrize("width_height", [(31, 20), (20, 31), (20, 20), (57, 40), (101, 33)])
@pytest.mark.parametrize(("resize", "size"), [(16, 16), (17, 16), (19, 8), (48, 47)])
def test_resizing_and_cropping_are_torchvisions(
    tmp_path: Path, width_height: tuple[int, int], resize: int, size: int
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (*width_height[::-1], 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")

    expected = v2.Compose([v2.Resize(resize), v2.CenterCrop(size)])(Image.fromarray(noise))

    assert np.array_equal(decode(tmp_path / "noise.png", resize, size), np.asarray(expected).transpose(2, 0, 1))


# Colour schemes


def test_shades_of_grey_follow_a_clamped_normal_distribution() -> None:
    """The chance of each byte from SciPy's normal distribution, clamped at one deviation, scaled, truncated.

    128 ± 25.5 stays inside the range of a byte, so that all of the noise shows; the ends are 15.9 % each.
    """
    levels = np.arange(102, 154)
    below = scipy.stats.norm.cdf((levels - 128) / 25.5)
    below[0], above = 0, np.append(below[1:], 1)
    chances = above - below

    shades = shaded(np.full(100_000, 9), np.random.default_rng(0))

    counts = np.bincount(shades.ravel(), minlength=256)
    assert counts[levels].sum() == shades.size
    assert chances[[0, -1]].sum() == pytest.approx(0.327, abs=0.001)  # 31.7 %, and half a level at either end
    assert scipy.stats.chisquare(counts[levels], chances * shades.size).pvalue > 0.001


def test_channels_of_a_shade_are_independent_of_each_other() -> None:
    shades = shaded(np.full(50_000, 9), np.random.default_rng(0)).astype(float)

    assert np.abs(np.corrcoef(shades.T) - np.eye(3)).max() < 4 / math.sqrt(len(shades))


def test_uncorrelated_colour_tells_nothing_of_the_digits_of_mnist(raw: Path) -> None:
    """Mutual information of digit and colour, near none against ln 10 = 2.30 for correlated ones."""
    _need(raw / "MNIST")
    colours = ColourDigits(MNIST("official", None), "colour").load(raw, "test", seed=0).labels
    digits = MNIST("official", None).load(raw, "test", seed=0).labels

    joint = np.histogram2d(digits, colours, bins=10)[0]

    assert scipy.stats.entropy(joint.ravel(), np.outer(joint.sum(1), joint.sum(0)).ravel()) < 1e-3
    assert np.bincount(digits).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert joint.diagonal().tolist() == [98, 113, 103, 101, 98, 89, 95, 102, 97, 100]


def test_painted_mnist_is_white_exactly_where_mnist_has_ink(raw: Path) -> None:
    _need(raw / "MNIST")
    source = MNIST("official", Limit(10, 500))
    ink = source.load(raw, "test", seed=0).pixels[:]
    painted = ColourDigits(source, "correlated").load(raw, "test", seed=0)

    white = (painted.pixels[:] == 255).all(1)

    assert np.array_equal(white, ink[:, 0] > 0)
    assert painted.ids[7] == "correlated/mnist/test/00007"
