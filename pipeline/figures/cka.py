"""Similarity of all layers of all networks, as a heat map."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.style import PAPER, words
from pipeline.figures.tables import distinct, where

# Points. Where layers lie nearer to one another than their names can be read, they go unnamed.
_LARGEST, _SMALLEST = 6.5, 4.5
# Inches: a network's name, between the maps, all of the bar, and above the maps.
_NAME, _GAP, _BAR, _TOP = 0.24, 0.22, 0.75, 0.3

Layer = tuple[str, str]  # model, cut


@final
@dataclass(frozen=True)
class CKA(Figure):
    """Similarity of every layer of every network to every other, on the data of the stitches.

    Each block is a pair of networks, its layers from first to last. The left map compares
    networks of one seed. The right one, where the study has a second seed, compares networks of
    two seeds: its diagonal blocks show how near two trainings of one model come to each other,
    which is the yardstick for the other blocks. Calibrated values are 0 for layers as alike as if
    the samples of one were permuted; what is below 0 is drawn as 0.
    """

    width: float
    index: str  # a name in `similarity`
    value: Literal["raw", "calibrated"]  # the latter where there were permutations
    refers: ClassVar = {"index": "similarity"}
    heading: ClassVar = "Similarity of layers"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        measure = self.index if self.value == "raw" else f"{self.index}_calibrated"
        rows = measured(f"figures.cka.{'index' if self.value == 'raw' else 'value'}", evidence.similarity, measure)
        rows = where(rows, data=evidence.data)
        layers = [(model, cut) for model, cuts in evidence.cuts.items() for cut in cuts]
        seeds = sorted(distinct(rows, "seed"))[:2]
        size = _letters(self.width / len(seeds) - 1, layers)
        names = _inches_of_cuts(layers, size)
        drawing, maps, beside = _frames(self.width, len(seeds), names)
        for axes, seed in zip(maps, seeds, strict=True):
            axes.imshow(_matrix(rows, layers, seeds[0], seed), vmin=0, vmax=1, cmap="cividis")
            axes.set_title(f"seed {seeds[0]} (down) by seed {seed} (across)")
            _outline(axes, layers)
            _name_layers(axes, layers, size, names, left=axes is maps[0])
        drawing.colorbar(maps[0].images[0], cax=beside, label=f"{words(measure)} on {words(evidence.data)}")
        beside.spines[:].set_visible(False)
        return drawing


def _matrix(rows: DataFrame, layers: list[Layer], seed: int, other: int) -> np.ndarray:
    """Of each layer of one seed (down) to each of the other (across)."""
    of_seeds = where(rows, seed=seed, other_seed=other)
    keys = zip(of_seeds["model"], of_seeds["cut"], of_seeds["other_model"], of_seeds["other_cut"], strict=True)
    values = dict(zip(keys, of_seeds["value"], strict=True))
    # A pair that was not compared stays blank; the other way round would be another pair of seeds.
    return np.array([[values.get((*down, *across), np.nan) for across in layers] for down in layers])


def _frames(width: float, maps: int, names: float) -> tuple[Drawing, list[Axes], Axes]:
    """An empty drawing, the axes of its square maps, and those of the bar beside them.

    Placed by hand: Matplotlib's own layout does not settle with two rows of names on one axis.
    """
    left = names + _NAME
    side = (width - left - _BAR - _GAP * (maps - 1)) / maps
    height = _TOP + side + left
    drawing = Drawing(figsize=(width, height))

    def place(x: float, y: float, across: float, up: float) -> Axes:
        return drawing.add_axes((x / width, y / height, across / width, up / height))

    squares = [place(left + i * (side + _GAP), left, side, side) for i in range(maps)]
    return drawing, squares, place(width - _BAR + 0.12, left + side * 0.15, 0.11, side * 0.7)


def _letters(inches: float, layers: list[Layer]) -> float:
    """Points of the layers' names; 0 for none."""
    size = min(_LARGEST, 72 * inches / len(layers) * 0.8)
    return size if size >= _SMALLEST else 0.0


def _inches_of_cuts(layers: list[Layer], size: float) -> float:
    return max(len(cut) for _, cut in layers) * size * 0.64 / 72 + 0.05


def _outline(axes: Axes, layers: list[Layer]) -> None:
    """Paper-coloured lines between networks."""
    for place in range(1, len(layers)):
        if layers[place][0] != layers[place - 1][0]:
            axes.axhline(place - 0.5, color=PAPER, linewidth=1.4)
            axes.axvline(place - 0.5, color=PAPER, linewidth=1.4)
    axes.spines[:].set_visible(False)


def _name_layers(axes: Axes, layers: list[Layer], size: float, inches: float, left: bool) -> None:
    """Names of cuts next to the map and those of networks outside them, `inches` away."""
    cuts, places = [cut if size else "" for _, cut in layers], range(len(layers))
    axes.set_xticks(places, cuts, rotation=90, fontsize=size or 1)
    axes.set_yticks(places, cuts if left else [""] * len(cuts), fontsize=size or 1)
    axes.tick_params(length=0, pad=2)
    for model in dict.fromkeys(model for model, _ in layers):
        middle = float(np.mean([i for i, layer in enumerate(layers) if layer[0] == model]))
        text = {"text": words(model), "textcoords": "offset points", "fontsize": 7, "annotation_clip": False}
        below, beside = axes.get_xaxis_transform(), axes.get_yaxis_transform()
        away = -72 * inches - 4
        axes.annotate(xy=(middle, 0), xycoords=below, xytext=(0, away), ha="center", va="top", **text)
        if left:
            axes.annotate(
                xy=(0, middle), xycoords=beside, xytext=(away, 0), ha="right", va="center", rotation=90, **text
            )
