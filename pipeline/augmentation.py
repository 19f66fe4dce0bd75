"""Random changes to a batch of images, by the name a recipe gives them. Bytes in, bytes out.

They act before normalisation, so that what they uncover is black.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.arrays import Images
from pipeline.errors import ParamsError, choices

Augment = Callable[[Images, np.random.Generator], Images]


def flip(images: Images, random: np.random.Generator) -> Images:
    """Each image left to right, or not."""
    return np.where(random.random(len(images)) < 0.5, images.T[::-1], images.T).T


def shift(images: Images, random: np.random.Generator, reach: int) -> Images:
    """Each image moved by up to `reach` pixels either way: padding and cropping."""
    padded = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, images.shape[2:], (2, 3))
    down, across = random.integers(0, 2 * reach + 1, (2, len(images)))
    return windows[np.arange(len(images)), :, down, across]


def cutout(images: Images, random: np.random.Generator, size: int) -> Images:
    """Each image with one black square."""
    height, width = images.shape[2:]
    top = random.integers(0, height - size + 1, (len(images), 1, 1, 1))
    left = random.integers(0, width - size + 1, (len(images), 1, 1, 1))
    rows, columns = np.arange(height)[:, None], np.arange(width)
    hole = (rows >= top) & (rows < top + size) & (columns >= left) & (columns < left + size)
    return np.where(hole, np.uint8(0), images)


AUGMENTATIONS: dict[str, Augment] = {
    "flip": flip,
    "shift2": lambda images, random: shift(images, random, 2),
    "shift4": lambda images, random: shift(images, random, 4),
    "cutout4": lambda images, random: cutout(images, random, 4),
}


def composed(where: str, names: Sequence[str]) -> Augment:
    """The named augmentations one after another."""
    for name in names:
        if name not in AUGMENTATIONS:
            raise ParamsError(f"{where}: {name} is not a known augmentation; {choices(name, AUGMENTATIONS)}")

    def augment(images: Images, random: np.random.Generator) -> Images:
        for name in names:
            images = AUGMENTATIONS[name](images, random)
        return np.ascontiguousarray(images)

    return augment
