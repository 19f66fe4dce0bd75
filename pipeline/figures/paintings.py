"""What stitched networks paint, as Smith et al. (2025), figure 4, and Hernandez et al. (2022), figure 6."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame, concat

from pipeline.arrays import PAINTED
from pipeline.errors import ParamsError
from pipeline.figures.base import Evidence, Figure, Place, check_width
from pipeline.figures.style import words
from pipeline.figures.tables import series, where

_LABEL = 1.6  # inches of names at the left
_GAP = 0.04


@final
@dataclass(frozen=True)
class Paintings(Figure):
    """Images that stitched networks make of test images: the originals above, a row for each stitch below.

    Of the first seed, with the share of all test images whose painting is told to be what it should be: by the
    receiver, or by the network that judges an autoencoder's. Where the receiver is an autoencoder, the stitch feeds
    its decoder; where the receiver's cut is its input, the stitch paints what the receiver is to see, shown with the
    receiver's normalisation undone. Controls come last: an untrained network is given the same images, the receiver
    itself its own, and noise none. That an image looks right does not show that its content came from the sender: a
    decoder paints what it learnt.
    """

    width: float
    images: int
    heading: ClassVar = "Paintings"

    def __post_init__(self) -> None:
        check_width(self.width)
        if not 1 <= self.images <= PAINTED:
            raise ValueError(f"images: is {self.images}; it should be from 1 to {PAINTED}")

    def draw(self, evidence: Evidence) -> Drawing:
        if not evidence.paintings:
            raise ParamsError("figures.paintings: no receiver makes images; leave the figure out")
        cells = where(concat([evidence.cells, evidence.controls]), measure="accuracy")
        rows = {words(evidence.data): evidence.originals}
        for place, painted in evidence.paintings.items():
            kind = "" if place[0] in evidence.cuts else " (control)"
            rows[f"{words(place[0])}{kind} → {_name(*place[1:])}\n{_accuracy(cells, place)}"] = painted
        side = (self.width - _LABEL) / self.images
        drawing = Drawing(figsize=(self.width, (side + _GAP) * len(rows)))
        grid = drawing.subplots(len(rows), 1, squeeze=False)[:, 0]
        drawing.subplots_adjust(left=_LABEL / self.width, right=1, top=1, bottom=0, hspace=_GAP / side)
        for axes, (name, images) in zip(grid, rows.items(), strict=True):
            axes.imshow(_strip(images[: self.images]), aspect="auto", interpolation="nearest")
            axes.set_yticks([images.shape[2] / 2], [name], fontsize=7)
            axes.set_xticks([])
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        return drawing


def _accuracy(cells: DataFrame, place: Place) -> str:
    """Of the first seed, as the pictures are."""
    keys = dict(zip(("sender", "receiver", "objective", "sender_cut", "receiver_cut"), place, strict=True))
    there = where(cells, **keys)
    return f"accuracy {100 * series(there, 'value').iloc[0]:.0f} %" if len(there) else ""


def _name(receiver: str, objective: str, source: str, target: str) -> str:
    cuts = source if source == target else f"{source} → {target}"
    return f"{words(receiver)}\n{words(objective)}, {cuts}"


def _strip(images: np.ndarray) -> np.ndarray:
    """Side by side, as H × W × 3."""
    strip = np.concatenate(list(np.moveaxis(images, 1, -1)), axis=1)
    return np.repeat(strip, 3, axis=2) if strip.shape[2] == 1 else strip
