"""Colour MNIST as Smith, Mannering and Marcu (2025, app. A) made it, after Bahng et al. (2020)."""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, final

import numpy as np
from jaxtyping import UInt8

from pipeline.arrays import Labels
from pipeline.datasets.base import Labelled, Normalisation, SameClasses, Split
from pipeline.errors import DataError
from pipeline.randomness import generator

# The background that stands for each digit. The three values of 225 are the released code's.
COLOURS = np.array(
    [
        (255, 0, 0),
        (0, 255, 0),
        (0, 0, 255),
        (225, 225, 0),
        (225, 0, 225),
        (0, 255, 255),
        (255, 128, 0),
        (255, 0, 128),
        (128, 0, 255),
        (128, 128, 128),
    ],
    np.uint8,
)
NOISE = 0.1  # of the range of a channel
OWN = 0.1  # the part of each digit that keeps its own colour where the two are uncorrelated

Scheme = Literal["correlated", "digit", "colour", "colour_only", "bw", "mix"]
Ink = UInt8[np.ndarray, "N 1 H W"]
Coloured = UInt8[np.ndarray, "N 3 H W"]
Backgrounds = UInt8[np.ndarray, "N 3"]


@final
@dataclass(frozen=True)
class ColourDigits(SameClasses):
    """Digits on coloured grounds; the scheme says what of colour and shape goes with the label.

    correlated: colour and digit both; digit: the digit, on any colour; colour: the colour, under any
    digit; colour_only: the colour, with no digit; bw: the digit in grey; mix: a third each of bw,
    correlated and colour_only, under the normalisation of the coloured ones.
    """

    scheme: Scheme

    def __post_init__(self) -> None:
        if self.source.shape()[0] != 1:
            raise ValueError(f"source: has {self.source.shape()[0]} channels; it should have 1, as digits and mnist do")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source = self.source.load(root, split, seed)
        _check_digits(source.labels)
        draw = partial(generator, seed, "colour_digits", self.scheme, split)
        uncorrelated = self.scheme in ("digit", "colour")
        colours = spread_colours(source.labels, draw("colours")) if uncorrelated else source.labels
        # One shade an image, drawn here and never again: the noise is part of the data.
        pixels = self._draw(source.pixels[:], shaded(colours, draw("noise")), draw("thirds"))
        labels = colours if self.scheme == "colour" else source.labels
        return Labelled(pixels, labels, tuple(f"{self.scheme}/{name}" for name in source.ids))

    def normalisation(self) -> Normalisation:
        if self.scheme != "bw":
            return Normalisation(mean=(0.5,) * 3, std=(0.5,) * 3)
        own = self.source.normalisation()
        return Normalisation(mean=own.mean * 3, std=own.std * 3)

    def shape(self) -> tuple[int, int, int]:
        return (3, *self.source.shape()[1:])

    def _draw(self, ink: Ink, backgrounds: Backgrounds, rng: np.random.Generator) -> Coloured:
        if self.scheme == "bw":
            return grey(ink)
        if self.scheme == "colour_only":
            return painted(np.zeros_like(ink), backgrounds)
        if self.scheme == "mix":
            return mixed(ink, backgrounds, rng)
        return painted(ink, backgrounds)


def spread_colours(digits: Labels, rng: np.random.Generator) -> Labels:
    """A colour for each digit that tells nothing of it: a tenth keep their own, the others share the rest.

    Counts are the released code's: a tenth rounded down, then shares rounded up over the nine other
    colours in a shuffled order, so that the last of them may get a little less.
    """
    colours = np.empty_like(digits)
    for digit in range(len(COLOURS)):
        rows = rng.permutation(np.flatnonzero(digits == digit))
        others = rng.permutation(np.delete(np.arange(len(COLOURS)), digit))
        kept = int(OWN * len(rows))
        share = math.ceil((len(rows) - kept) / len(others))
        colours[rows[:kept]] = digit
        colours[rows[kept:]] = np.repeat(others, share)[: len(rows) - kept]
    return colours


def shaded(colours: Labels, rng: np.random.Generator) -> Backgrounds:
    """A shade of each colour: noise cut off at one deviation *before* it is scaled to a tenth of the range.

    So about 32 % of the draws lie exactly on the two ends, ± 25.5 levels.
    """
    noise = rng.standard_normal((len(colours), 3)).clip(-1, 1) * (NOISE * 255)
    return (COLOURS[colours] + noise).clip(0, 255).astype(np.uint8)


def painted(ink: Ink, backgrounds: Backgrounds) -> Coloured:
    """Every pixel with any ink in white, the others in the image's colour."""
    return np.where(ink > 0, np.uint8(255), backgrounds[:, :, None, None])


def grey(ink: Ink) -> Coloured:
    """The digits as they are, with all their greys, on three equal channels."""
    return np.repeat(ink, 3, axis=1)


def mixed(ink: Ink, backgrounds: Backgrounds, rng: np.random.Generator) -> Coloured:
    """A third each, at random, of grey digits, painted digits and bare colours; every image once."""
    thirds = rng.permutation(len(ink)) % 3
    pixels = painted(np.where((thirds == 2)[:, None, None, None], np.uint8(0), ink), backgrounds)
    pixels[thirds == 0] = grey(ink[thirds == 0])
    return pixels


def _check_digits(labels: Labels) -> None:
    if labels.max(initial=0) >= len(COLOURS):
        raise DataError(f"colour_digits: its source has a class {labels.max()}; there are colours for 0 to 9 only")
