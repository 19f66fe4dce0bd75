"""One look for all figures, and their bytes.

Ink, paper and lines have colours of their own that nothing else uses, so that the page can swap
them for its own in the dark.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import LogLocator, NullLocator

from pipeline.figures.base import Evidence, Figure

INK, FAINT, LINES, PAPER = "#1b1e23", "#5f6770", "#dfe2e6", "#fffffd"

# Okabe and Ito's colours, told apart with every common kind of colour blindness; yellow is left
# out because it cannot be seen on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")

_SETTINGS: dict[Any, object] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so it is the same on every machine
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": LINES,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "image.interpolation": "none",
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "backstitch",  # otherwise ids in the file are random
    "pdf.fonttype": 42,
}
_NO_DATES = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def rendered(figure: Figure, evidence: Evidence, formats: Sequence[str] = ("svg", "pdf")) -> dict[str, bytes]:
    """The bytes of `figure` in each format; the same evidence gives the same bytes."""
    with settings():
        drawing = figure.draw(evidence)
        return {name: saved(drawing, name) for name in formats}


def colour(names: Sequence[str], name: str) -> str:
    """The colour of `name`, which is the same in every figure that passes the same `names`."""
    return COLOURS[names.index(name) % len(COLOURS)]


def marker(names: Sequence[str], name: str) -> str:
    return MARKERS[names.index(name) % len(MARKERS)]


def words(name: str) -> str:
    """A name from params as it reads in a label."""
    return name.replace("_", " ")


def scale_values(axes: Axes, scale: str) -> None:
    """The y axis linear, or logarithmic with ticks at 1, 2 and 5 in plain figures."""
    axes.set_yscale(scale)
    if scale == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def add_legend(drawing: Drawing, handles: Sequence[Artist], columns: int) -> None:
    """Above all panels, in as many columns as asked for, or as there is room for where names are long."""
    for count in range(max(1, min(columns, len(handles))), 0, -1):
        legend = drawing.legend(handles=handles, loc="outside upper center", ncols=count, columnspacing=1.2)
        if count == 1 or legend.get_window_extent().width <= drawing.bbox.width:
            return
        legend.remove()


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib's settings for all our figures inside, and what they were afterwards."""
    # From Matplotlib's own defaults on, so that a user's matplotlibrc moves nothing.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def saved(drawing: Drawing, name: str) -> bytes:
    """The same drawing gives the same bytes."""
    buffer = BytesIO()
    drawing.savefig(buffer, format=name, metadata=_NO_DATES[name], dpi=200)
    return buffer.getvalue()
