"""Panels of numbers over the receiver's cuts: one for each receiver and objective."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product, zip_longest
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence
from pipeline.figures.style import FAINT, INK, add_legend, colour, marker, words
from pipeline.figures.tables import distinct, summarised, where
from pipeline.naming import kind_of

_DODGE = 0.3  # of the distance between two cuts; all senders together
_HEIGHT = 2.5  # inches of one row of panels
_STROKES = {"noise": "x", "random": "+", "self": "1"}
_LETTER, _MARGIN = 0.06, 0.75  # inches: of a cut's name, and of a panel's width that is not its axes
_TITLE, _NARROWEST = 0.068, 2.1  # inches: of a letter of a title, and of a panel


def cut_panels(rows: DataFrame, evidence: Evidence, width: float) -> tuple[Drawing, Iterator[tuple[Axes, DataFrame]]]:
    """An empty drawing, and its panels with the rows that belong on each."""
    receivers, objectives = distinct(rows, "receiver"), distinct(rows, "objective")
    titles = {pair: f"into {words(pair[0])} by {words(pair[1])}" for pair in product(receivers, objectives)}
    columns = min(len(objectives), max(1, int(width / max(_NARROWEST, _TITLE * max(map(len, titles.values()))))))
    lines = ceil(len(objectives) / columns)  # of a receiver
    drawing = Drawing(figsize=(width, 0.45 + _HEIGHT * lines * len(receivers)), layout="constrained")
    grid = drawing.subplots(lines * len(receivers), columns, squeeze=False)

    def panels() -> Iterator[tuple[Axes, DataFrame]]:
        for number, receiver in enumerate(receivers):
            places = grid[number * lines : (number + 1) * lines].flat
            for axes, objective in zip_longest(places, objectives):
                if objective is None:
                    axes.remove()
                    continue
                axes.set_title(titles[receiver, objective])
                names = cuts_of(where(rows, receiver=receiver), evidence.cuts[receiver])
                _name_cuts(axes, names, width / columns - _MARGIN)
                yield axes, where(rows, receiver=receiver, objective=objective)

    return drawing, panels()


def cuts_of(rows: DataFrame, cuts: Sequence[str]) -> list[str]:
    """Those of `cuts` that occur as the receiver's, in the receiver's order."""
    present = set(rows["receiver_cut"])
    return [cut for cut in cuts if cut in present]


def draw_senders(axes: Axes, rows: DataFrame, summary: DataFrame, evidence: Evidence) -> None:
    """A line of means, a band from low to high, and a mark for each number; for every sender.

    `summary` has sender, receiver_cut, mean, low and high. Senders stand a little beside one
    another: on many tasks they lie at the ceiling together.
    """
    models, senders = list(evidence.cuts), distinct(rows, "sender")
    cuts = cuts_of(rows, evidence.cuts[distinct(rows, "receiver")[0]])
    for i, sender in enumerate(senders):
        shift = _DODGE * ((i + 0.5) / len(senders) - 0.5)
        ink = colour(models, sender)
        line = where(summary, sender=sender).set_index("receiver_cut").loc[cuts]
        places = [place + shift for place in range(len(cuts))]
        axes.fill_between(places, line["low"], line["high"], alpha=0.18, linewidth=0, color=ink)
        axes.plot(places, line["mean"], color=ink)
        marks = where(rows, sender=sender)
        at = [cuts.index(cut) + shift for cut in marks["receiver_cut"]]
        shape = marker(models, sender)
        axes.plot(at, marks["value"], linestyle="none", marker=shape, markeredgewidth=0, alpha=0.85, color=ink)


def draw_reference(axes: Axes, places: Sequence[float], line: DataFrame) -> None:
    """The receiver's own numbers: dashed, in ink, over the senders."""
    axes.fill_between(places, line["low"], line["high"], alpha=0.15, linewidth=0, color=FAINT)
    alone = {"marker": "_", "markersize": 14} if len(places) == 1 else {}  # one point makes no line
    axes.plot(places, line["mean"], linestyle=(0, (4, 2)), linewidth=1.1, color=INK, **alone)


def draw_controls(axes: Axes, rows: DataFrame, cuts: Sequence[str]) -> None:
    """A faint line of means and a fainter band from low to high for each control.

    `rows` has sender, receiver_cut and value.
    """
    for name in distinct(rows, "sender"):
        line = summarised(where(rows, sender=name), ["receiver_cut"], "value", mean="mean", low="min", high="max")
        line = line.set_index("receiver_cut").reindex(list(cuts))
        places = range(len(cuts))
        axes.fill_between(places, line["low"], line["high"], alpha=0.1, linewidth=0, color=FAINT, zorder=1)
        axes.plot(places, line["mean"], **control_line(name))


def control_line(name: str) -> dict[str, Any]:
    """The same for a control in every figure; marks are strokes, under the filled ones of senders."""
    kind = kind_of(name)
    shape, size = (_STROKES.get(kind, "2"), 5) if kind == name else (f"${name.removeprefix(kind)[1:]}$", 11)
    return {"linestyle": ":", "linewidth": 0.9, "color": FAINT, "marker": shape, "markersize": size, "zorder": 1.5}


def add_key(
    drawing: Drawing, evidence: Evidence, senders: Sequence[str], reference: str, controls: Sequence[str] = ()
) -> None:
    """A legend above all panels, where it hides nothing."""
    axes, models = drawing.axes[0], list(evidence.cuts)
    # Lines without data: the drawn ones carry lines and marks apart.
    handles = [
        axes.plot(
            [], [], color=colour(models, name), marker=marker(models, name), markeredgewidth=0, label=words(name)
        )[0]
        for name in senders
    ]
    handles += axes.plot([], [], linestyle=(0, (4, 2)), linewidth=1.1, color=INK, label=reference)
    handles += [axes.plot([], [], **control_line(name), label=f"{words(name)} (control)")[0] for name in controls]
    add_legend(drawing, handles, int(drawing.get_figwidth() / 1.35))


def _name_cuts(axes: Axes, names: Sequence[str], inches: float) -> None:
    """Names under their places, slanted where two neighbours would touch."""
    nearest = max([len(one) + len(next_) for one, next_ in pairwise(names)], default=0) / 2 + 1
    slant = {"rotation": 40, "ha": "right"} if nearest * _LETTER > inches / len(names) else {}
    axes.set_xticks(range(len(names)), names, fontsize=7.5, **slant)
    axes.set_xlim(-0.4, len(names) - 0.6)
    axes.set_xlabel("receiver’s cut, first to last")
    axes.grid(axis="y")
