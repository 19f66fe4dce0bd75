"""Similarity of truncated layers over what a linear probe loses: what the trial `sensitivity` correlates."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.errors import ParamsError
from pipeline.figures.base import Evidence, Figure, check_width
from pipeline.figures.style import add_legend, colour, marker, words
from pipeline.figures.tables import distinct, groups, where

_COLUMNS, _HEIGHT = 3, 2.3  # panels beside each other at most, and inches of a row of them


@final
@dataclass(frozen=True)
class Truncations(Figure):
    """Similarity of each layer to its truncations over the accuracy that a probe loses by them, one panel an index.

    A line is one layer of one network at falling rank, its marks the ranks; the layer that the probe does best on
    stands at 0. An index that sees what a truncation takes falls from left to right, and never rises. Distances are
    shown with a minus, so that down is less similar everywhere. Each panel has a scale of its own.
    """

    width: float
    trial: Literal["sensitivity"]
    refers: ClassVar = {"trial": "trials"}
    heading: ClassVar = "Index against probe"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        table = _table(evidence.trials, self.trial)
        indices, cuts = distinct(table, "index"), distinct(table, "cut")
        rows = -(-len(indices) // _COLUMNS)
        drawing = Drawing(figsize=(self.width, 0.45 + _HEIGHT * rows), layout="constrained")
        grid = drawing.subplots(rows, min(len(indices), _COLUMNS), squeeze=False)
        for axes in grid.flat[len(indices) :]:
            axes.remove()
        for axes, index in zip(grid.flat, indices, strict=False):
            axes.set_title(words(index))
            axes.set_xlabel("lost by the probe, points")
            axes.set_ylabel("similarity to the best")
            axes.grid(axis="y")
            for (_, cut), line in groups(where(table, index=index), "layer", "cut"):
                axes.plot(100 * line["lost"], line["similarity"], **_look(cuts, cut), alpha=0.6)
        _add_key(drawing, grid.flat[0], cuts)
        return drawing


def _table(trials: DataFrame, trial: str) -> DataFrame:
    """index, layer (with its network), cut, rank, lost, similarity; in the order of ranks."""
    rows = DataFrame() if trials.empty else where(trials, trial=trial, part="truncation")
    if rows.empty:
        raise ParamsError(f"figures.truncations.trial: {trial} has truncated nothing; its cuts should name a layer")
    table = rows.pivot(index=["index", "of"], columns="measure", values="value").reset_index()
    layers = [of.rpartition("/") for of in table["of"]]
    table = table.assign(layer=[layer for layer, _, _ in layers], rank=[int(rank) for *_, rank in layers])
    table["cut"] = [layer.rpartition("/")[2] for layer in table["layer"]]
    order = {column: {name: at for at, name in enumerate(distinct(rows, column))} for column in ("index", "of")}
    return table.sort_values(["index", "of"], key=lambda column: column.map(order[str(column.name)]))


def _look(cuts: list[str], cut: str) -> dict[str, Any]:
    return {"color": colour(cuts, cut), "marker": marker(cuts, cut), "markeredgewidth": 0, "linewidth": 0.8}


def _add_key(drawing: Drawing, axes: Axes, cuts: list[str]) -> None:
    handles = [axes.plot([], [], **_look(cuts, cut), label=cut)[0] for cut in cuts]
    add_legend(drawing, handles, 6)
