"""Stitched accuracy by sender, where the senders are what matters and not the cuts."""

from dataclasses import dataclass
from typing import ClassVar, final

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.style import FAINT, INK, add_legend, colour, words
from pipeline.figures.tables import distinct, groups, series, where

_HEIGHT, _BY = 0.24, 0.16  # inches: of a sender's line, and between the cuts on it
_LINES = {"unstitched": (0, (4, 2)), "own": ":"}


@final
@dataclass(frozen=True)
class AccuracyBySender(Figure):
    """Test accuracy of each stitched network, one line of marks a sender and control, a panel a receiver and objective.

    Each mark is one cell, of one seed and one cut; where there are several cuts, later ones lie lower. Controls
    are grey: noise is tested on its own classes. The dashed line is the receiver unstitched, on the data it is stitched
    towards, the dotted one on the data it learnt. Accuracy as high as that does not say that two networks carry the
    same information: see how far controls reach.
    """

    width: float
    heading: ClassVar = "Accuracy by sender"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        cells = measured("figures.accuracy_by_sender", evidence.cells, "accuracy")
        rows = pandas.concat([cells, where(evidence.controls, measure="accuracy")])
        receivers, objectives = distinct(cells, "receiver"), distinct(cells, "objective")
        senders = distinct(rows, "sender")
        drawing = Drawing(
            figsize=(self.width, len(receivers) * (_HEIGHT * len(senders) + 0.75) + 0.35), layout="constrained"
        )
        grid = drawing.subplots(len(receivers), len(objectives), squeeze=False, sharey=True)
        for across, receiver in zip(grid, receivers, strict=True):
            for axes, objective in zip(across, objectives, strict=True):
                axes.set_title(f"into {words(receiver)} by {words(objective)}")
                _draw(axes, where(rows, receiver=receiver, objective=objective), senders, evidence)
                for name, data in (("unstitched", evidence.home), ("own", evidence.own.get(receiver, evidence.home))):
                    axes.axvline(_alone(evidence, receiver, data), linestyle=_LINES[name], linewidth=1.1, color=INK)
                axes.xaxis.set_major_formatter(lambda accuracy, _: f"{100 * accuracy:g}%")
                axes.set_yticks(range(len(senders)), [words(name) for name in senders])
                axes.set_ylim(len(senders) - 0.5, -0.5)
                axes.set_xlabel("test accuracy")
                axes.grid(axis="x")
        said = {"unstitched": f"receiver, unstitched, on {words(evidence.home)}", "own": "on its own data"}
        handles = [
            grid[0][0].plot([], [], linestyle=line, linewidth=1.1, color=INK, label=said[name])[0]
            for name, line in _LINES.items()
        ]
        add_legend(drawing, handles, 2)
        return drawing


def _draw(axes: Axes, rows: DataFrame, senders: list[str], evidence: Evidence) -> None:
    models = list(evidence.cuts)
    places = {name: place for place, name in enumerate(senders)}
    for (sender,), each in groups(rows, "sender"):
        cuts = distinct(each, "receiver_cut")
        step = _BY / len(cuts)
        down = [places[sender] + step * (2 * cuts.index(cut) - len(cuts) + 1) for cut in each["receiver_cut"]]
        ink = colour(models, sender) if sender in models else FAINT
        axes.plot(series(each, "value"), down, linestyle="none", marker="o", markeredgewidth=0, alpha=0.8, color=ink)


def _alone(evidence: Evidence, receiver: str, data: str) -> float:
    measure = evidence.unstitched("accuracy") if data == evidence.home else "accuracy"
    return float(series(where(evidence.networks, measure=measure, model=receiver, data=data), "value").mean())
