"""Scores of a detector as histograms, as Balogh and Jelasity (2025) show them of energies."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from pandas import DataFrame

from pipeline.errors import ParamsError, choices
from pipeline.figures.base import Evidence, Figure, check_width
from pipeline.figures.panels import cuts_of
from pipeline.figures.style import FAINT, add_legend, colour, words
from pipeline.figures.tables import alike, distinct, groups, series, where
from pipeline.naming import kind_of

_HEIGHT = 1.5  # inches of a row of panels
_STROKES = {"noise": ":", "random": "--"}


@final
@dataclass(frozen=True)
class ScoresByCut(Figure):
    """How far a detector puts each sender's stitched activations outside the receiver's distribution, by cut.

    A row for each receiver and objective, a panel for each cut of the receiver. The grey ground is the
    receiver's own activations of its test images; each line is one sender's, stitched at one cut in both networks
    where there is such, of the first seed, and a broken grey line a control's, which may reach beyond the top.
    Further right is further out. Heights are shares of samples for a given width along the axis, which is
    logarithmic where all scores are positive. Where a line lies
    right of the ground, the receiver's tail is given what it has never seen, whatever the accuracy.
    """

    width: float
    detector: str  # a name in `detectors`
    refers: ClassVar = {"detector": "detectors"}
    heading: ClassVar = "Detector scores by cut"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        rows = where(evidence.bars, detector=self.detector)
        if rows.empty:
            known = choices(self.detector, distinct(evidence.bars, "detector"))
            raise ParamsError(f"figures.scores_by_cut.detector: {self.detector} was not asked; {known}")
        rows = alike(where(rows, seed=min(distinct(rows, "seed"))))
        kinds = list(groups(rows, "receiver", "objective"))
        most = max(len(cuts_of(found, evidence.cuts[receiver])) for (receiver, _), found in kinds)
        drawing = Drawing(figsize=(self.width, 0.6 + _HEIGHT * len(kinds)), layout="constrained")
        grid = drawing.subplots(len(kinds), most, squeeze=False)
        for line, ((receiver, objective), found) in zip(grid, kinds, strict=True):
            cuts = cuts_of(found, evidence.cuts[receiver])
            for axes, cut in zip(line, cuts, strict=False):
                _draw(axes, where(found, receiver_cut=cut), list(evidence.cuts))
                axes.set_title(cut, fontsize=7.5)
            for axes in line[len(cuts) :]:
                axes.set_visible(False)
            line[0].set_ylabel(f"{words(receiver)}, {words(objective)}")
        drawing.supxlabel(f"{words(self.detector)} score", fontsize=8)
        _add_key(drawing, rows, list(evidence.cuts))
        return drawing


def _draw(axes: Axes, rows: DataFrame, models: list[str]) -> None:
    """The receiver's own as the ground, then a line for each cell into the cut."""
    stretched = bool((series(rows, "low") > 0).all())
    axes.set_xscale("log" if stretched else "linear")
    top = 0.0
    for number, ((sender, _), bars) in enumerate(groups(rows, "sender", "sender_cut")):
        edges = np.append(series(bars, "low").to_numpy(), series(bars, "high").to_numpy()[-1])
        if number == 0:
            axes.stairs(_heights(bars, "own", edges, stretched), edges, fill=True, color=FAINT, alpha=0.35)
        heights = _heights(bars, "stitched", edges, stretched)
        axes.stairs(heights, edges, linewidth=0.9, **_line(models, sender))
        if sender in models:
            top = max(top, heights.max(), _heights(bars, "own", edges, stretched).max())
    axes.set_ylim(0, 1.08 * top or None)  # of a control, whose spike would flatten all else, as much as there is room
    axes.set_yticks([])
    axes.tick_params(axis="x", labelsize=6)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(LogLocator(numticks=4) if stretched else MaxNLocator(3))


def _line(models: list[str], sender: str) -> dict[str, Any]:
    if sender in models:
        return {"color": colour(models, sender), "linestyle": "-"}
    return {"color": FAINT, "linestyle": _STROKES.get(kind_of(sender), "-.")}


def _heights(bars: DataFrame, side: str, edges: np.ndarray, stretched: bool) -> np.ndarray:
    """Shares of samples for a unit of the axis."""
    counts = series(bars, side).to_numpy(np.float64)
    return counts / counts.sum() / np.diff(np.log10(edges) if stretched else edges)


def _add_key(drawing: Drawing, rows: DataFrame, models: list[str]) -> None:
    axes, senders = drawing.axes[0], distinct(rows, "sender")
    handles = [axes.fill_between([], [], [], color=FAINT, alpha=0.35, linewidth=0, label="receiver, unstitched")]
    for name in sorted(senders, key=lambda name: models.index(name) if name in models else len(models)):
        kind = "" if name in models else " (control)"
        handles += axes.plot([], [], linewidth=0.9, label=f"{words(name)}{kind}", **_line(models, name))
    add_legend(drawing, handles, int(drawing.get_figwidth() / 1.2))
