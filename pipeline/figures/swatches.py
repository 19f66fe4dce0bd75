"""Example images of every class of every dataset, as Smith et al. (2025), figure 2a."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from pipeline.figures.base import SWATCH_CLASSES, SWATCHES, Evidence, Figure, check_width
from pipeline.figures.style import PAPER, words

# Inches: a letter of a dataset's name, the line of class names above its images, below the last.
_LETTER, _NAMES, _BELOW = 0.064, 0.24, 0.04


@final
@dataclass(frozen=True)
class Swatches(Figure):
    """Example images of each class of each dataset: a row for each, classes named above.

    The images are the first of their class in the training split, as the networks see them but
    for normalisation.
    """

    width: float
    per_class: int
    classes: int  # at most so many of each dataset
    heading: ClassVar = "Datasets"

    def __post_init__(self) -> None:
        check_width(self.width)
        if not 1 <= self.per_class <= SWATCHES:
            raise ValueError(f"per_class: is {self.per_class}; it should be from 1 to {SWATCHES}")
        if not 1 <= self.classes <= SWATCH_CLASSES:
            raise ValueError(f"classes: is {self.classes}; it should be from 1 to {SWATCH_CLASSES}")

    def draw(self, evidence: Evidence) -> Drawing:
        shown = {name: dict(list(classes.items())[: self.classes]) for name, classes in evidence.swatches.items()}
        left = 0.1 + _LETTER * max(map(len, shown))
        side = (self.width - left - 0.02) / max(map(len, shown.values())) / self.per_class
        step = _NAMES + side
        height = step * len(shown) + _BELOW
        drawing = Drawing(figsize=(self.width, height))
        for i, (dataset, classes) in enumerate(shown.items()):
            bottom, across = height - step * (i + 1), side * len(classes) * self.per_class
            axes = drawing.add_axes((left / self.width, bottom / height, across / self.width, side / height))
            _show(axes, [_filled(images[: self.per_class], self.per_class) for images in classes.values()])
            _name(axes, words(dataset), list(classes))
        return drawing


def _filled(images: list[np.ndarray], count: int) -> list[np.ndarray]:
    """`images` with blanks at the end where a class has fewer than `count`."""
    return images + [np.full_like(images[0], 255)] * (count - len(images))


def _show(axes: Axes, classes: list[list[np.ndarray]]) -> None:
    """One picture: all images side by side, each class one unit wide."""
    images = [image for examples in classes for image in examples]
    high, wide, channels = images[0].shape
    picture = np.repeat(np.concatenate(images, axis=1), 3 if channels == 1 else 1, axis=2)
    tall = 1 / len(classes[0])  # so that an image of as many rows as columns is square
    axes.imshow(picture, extent=(0, len(classes), tall, 0), aspect=high / wide)
    for place in range(1, len(images)):  # paper between classes, and a hair of it between images
        axes.axvline(place * tall, color=PAPER, linewidth=0.6 if place % len(classes[0]) else 3)


def _name(axes: Axes, dataset: str, classes: list[str]) -> None:
    axes.set_yticks([axes.get_ylim()[0] / 2], [dataset], fontsize=8)
    axes.set_xticks([i + 0.5 for i in range(len(classes))], [words(name) for name in classes], fontsize=6.5)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
