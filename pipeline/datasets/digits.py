"""scikit-learn's handwritten digits: embedded, so that a study runs without a download."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from pipeline.arrays import Images, Labels
from pipeline.datasets.base import Dataset, Labelled, Normalisation, Split
from pipeline.randomness import generator

NATIVE, WHITE = 8, 16  # side of the embedded images, and their brightest level

# Half the pixels of the 8 × 8 images are not zero: each counts the inked points of a 4 × 4 block, so
# every stroke has a halo of faint greys, which upscaling spreads (64 % of the pixels at 16 × 16). Colour
# schemes paint every non-zero pixel white, and turned such digits into blobs. So upscaled digits lose the
# ink fainter than this; the rest keeps its grey. Of the levels from 0 to 10 that were looked at, this one
# leaves strokes whole and the holes of 0, 6, 8 and 9 open: of binarised 16 × 16 digits, three nearest
# neighbours name 96 %, instead of 89 %.
FAINT = 7


@final
@dataclass(frozen=True)
class Digits(Dataset):
    """1,797 handwritten digits (Alpaydin and Kaynak 1998), split at random within each class."""

    size: int  # 8 leaves the images as they are; more upscales them and wipes off faint ink
    train_fraction: float

    def __post_init__(self) -> None:
        if self.size < NATIVE:
            raise ValueError(f"size: is {self.size}; it should be {NATIVE} or more")
        if not 0.01 <= self.train_fraction <= 0.99:
            raise ValueError(f"train_fraction: is {self.train_fraction:g}; it should be from 0.01 to 0.99")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        images, labels = map(np.asarray, load_digits(return_X_y=True))
        labels = labels.astype(np.int64)
        train = _train(labels, self.train_fraction, generator(seed, "digits", "split"))
        rows = np.flatnonzero(train if split == "train" else ~train)
        pixels = _upscaled(images[rows].reshape(-1, NATIVE, NATIVE), self.size)
        return Labelled(pixels, labels[rows], tuple(f"digits/{row:05d}" for row in rows))

    def classes(self, root: Path) -> tuple[str, ...]:
        return tuple("0123456789")

    def normalisation(self) -> Normalisation:
        return Normalisation(mean=(0.26,), std=(0.37,))  # of all images at 16 × 16

    def shape(self) -> tuple[int, int, int]:
        return 1, self.size, self.size


def _train(labels: Labels, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Which images train: the same fraction of every class, drawn in the order of the classes."""
    train = np.zeros(len(labels), bool)
    for label in range(10):
        rows = rng.permutation(np.flatnonzero(labels == label))
        train[rows[: round(fraction * len(rows))]] = True
    return train


def _upscaled(images: np.ndarray, size: int) -> Images:
    if size > NATIVE:
        small = map(Image.fromarray, images.astype(np.float32))
        images = np.stack([np.asarray(image.resize((size, size), Image.Resampling.BICUBIC)) for image in small])
        images = np.where(images < FAINT, 0, images.clip(0, WHITE))
    return np.rint(images * (255 / WHITE)).astype(np.uint8)[:, None]
