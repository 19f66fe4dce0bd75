"""Heat maps of layers: networks as blocks, their layers from first to last."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from pipeline.figures.style import PAPER, words

# Points. Where layers lie nearer to one another than their names can be read, they go unnamed.
_LARGEST, _SMALLEST = 6.5, 4.5
# Inches: a network's name, between the maps, all of the bar, and above the maps.
_NAME, _GAP, _BAR, _TOP = 0.24, 0.22, 0.75, 0.3
_ABREAST = 3  # maps at most, or networks' names run into each other

Layer = tuple[str, str]  # model, cut


class Names:
    """How large the names of layers are, and how much room they take; none where there is too little."""

    def __init__(self, width: float, maps: int, down: Sequence[Layer], across: Sequence[Layer]) -> None:
        size = min(_LARGEST, 72 * (width / _columns(maps) - 1) / len(across) * 0.8)
        self.size = size if size >= _SMALLEST else 0.0
        self.inches = max(len(cut) for _, cut in (*down, *across)) * self.size * 0.64 / 72 + 0.05


def frames(width: float, maps: int, names: Names, height: float = 1.0) -> tuple[Drawing, list[Axes], Axes]:
    """An empty drawing, the axes of its maps, `height` times as high as wide, and those of the first row’s bar.

    Placed by hand: Matplotlib's own layout does not settle with two rows of names on one axis.
    """
    columns = _columns(maps)
    left = names.inches + _NAME
    side = (width - left - _BAR - _GAP * (columns - 1)) / columns
    up = side * height
    row = _TOP + up + left
    whole = row * math.ceil(maps / columns)
    drawing = Drawing(figsize=(width, whole))

    def place(x: float, y: float, across: float, up: float) -> Axes:
        return drawing.add_axes((x / width, y / whole, across / width, up / whole))

    lowest = whole - row + left  # of the first row
    found = [place(left + i % columns * (side + _GAP), lowest - i // columns * row, side, up) for i in range(maps)]
    return drawing, found, place(width - _BAR + 0.12, lowest + up * 0.15, 0.11, up * 0.7)


def leftmost(maps: Sequence[Axes]) -> Sequence[Axes]:
    """The first of each row."""
    return maps[:: _columns(len(maps))]


def _columns(maps: int) -> int:
    return math.ceil(maps / math.ceil(maps / _ABREAST))


def name_layers(axes: Axes, down: Sequence[Layer], across: Sequence[Layer], names: Names, left: bool) -> None:
    """Paper-coloured lines between networks; names of cuts next to the map and those of networks outside them."""
    _part(axes.axhline, down)
    _part(axes.axvline, across)
    axes.spines[:].set_visible(False)
    axes.set_xticks(range(len(across)), _cuts(across, names), rotation=90, fontsize=names.size or 1)
    axes.set_yticks(range(len(down)), _cuts(down, names) if left else [""] * len(down), fontsize=names.size or 1)
    axes.tick_params(length=0, pad=2)
    below, beside, away = axes.get_xaxis_transform(), axes.get_yaxis_transform(), -72 * names.inches - 4
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "annotation_clip": False}
    for model, middle in _middles(across):
        axes.annotate(words(model), (middle, 0), (0, away), below, ha="center", va="top", **style)
    for model, middle in _middles(down) if left else ():
        axes.annotate(words(model), (0, middle), (away, 0), beside, ha="right", va="center", rotation=90, **style)


def _cuts(layers: Sequence[Layer], names: Names) -> list[str]:
    return [cut if names.size else "" for _, cut in layers]


def _part(line: Callable[..., object], layers: Sequence[Layer]) -> None:
    for place in range(1, len(layers)):
        if layers[place][0] != layers[place - 1][0]:
            line(place - 0.5, color=PAPER, linewidth=1.4)


def _middles(layers: Sequence[Layer]) -> list[tuple[str, float]]:
    """Each network, and the middle of its layers."""
    models = dict.fromkeys(model for model, _ in layers)
    return [(name, float(np.mean([i for i, (model, _) in enumerate(layers) if model == name]))) for name in models]
