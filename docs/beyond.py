"""Draws the figures of beyond.md, and prints its numbers, from the tables that studies keep: ``python docs/beyond.py``."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame

from pipeline.figures.style import COLOURS, FAINT, INK, MARKERS, settings
from pipeline.figures.tables import chosen, distinct, groups, series, where

TOP = Path(__file__).resolve().parent.parent
MODES = {  # studies of the same networks, by the statistics that BatchNorms of sender and receiver go by
    "batchnorm-eval": "both their own",
    "batchnorm-recalibrated": "sender recalibrated",
    "smith2025-senders-laptop": "and receiver by batches",
    "batchnorm-batch": "both by batches, as the paper",
}
CUTS = ["maxpool", "layer1", "layer2", "layer3", "layer4"]
HONEST = {"digit", "correlated", "bw", "self"}  # what can carry a digit's shape into Digit
LYING = {"colour_only", "noise"}  # what cannot: one has seen no digit, the other is no image
DETECTORS = ("mahalanobis", "nearest", "tail_energy")


def table(study: str, name: str) -> DataFrame:
    return pandas.read_csv(TOP / "studies" / study / "reports/tables" / f"{name}.csv")


def gains() -> Figure:
    """Digit stitched into itself on Correlated images, by how BatchNorms count, beside both baselines."""
    drawing = Figure(figsize=(7, 3), layout="constrained")
    axes = drawing.subplots()
    for number, (study, label) in enumerate(MODES.items()):
        cells = where(table(study, "cells"), sender="digit", receiver="digit")
        line(axes, cells, "accuracy", label, COLOURS[number], MARKERS[number], (number - 1.5) * 0.06)
    for column, dashes, label in (
        ("unstitched", (4, 2), "unstitched"),
        ("recalibrated", (1, 1), "unstitched, recalibrated"),
    ):
        line(axes, cells, column, label, INK, "", 0, (0, dashes))
    axes.set_xticks(range(len(CUTS)), CUTS)
    axes.set(xlabel="cut", ylabel="accuracy")
    axes.grid(axis="y")
    drawing.legend(loc="outside right center")
    return drawing


def line(
    axes: Axes, rows: DataFrame, column: str, label: str, ink: str, mark: str, shift: float, style: object = "-"
) -> None:
    """A mark for each seed and a line of means, over the cuts of `rows`."""
    there = [cut for cut in CUTS if cut in distinct(rows, "receiver_cut")]
    means = [float(series(where(rows, receiver_cut=cut), column).mean()) for cut in there]
    axes.plot([CUTS.index(cut) + shift for cut in there], means, color=ink, linestyle=style, label=label)
    places = [CUTS.index(cut) + shift for cut in series(rows, "receiver_cut")]
    if mark:
        axes.plot(places, series(rows, column), linestyle="none", marker=mark, color=ink, alpha=0.6, markeredgewidth=0)


def told(study: str) -> DataFrame:
    """Cells into Digit that lie and cells that may not, as good as the receiver, with what detectors tell of them."""
    cells, controls = table(study, "cells"), table(study, "controls")
    audits = table(study, "control_audits")
    keys = [column for column in controls if column not in ("measure", "value")]
    wide = pandas.concat([controls, audits]).pivot(index=keys, columns="measure", values="value").reset_index()
    own = cells.drop_duplicates("seed").set_index("seed")["unstitched"]
    wide["difference"] = wide["accuracy"] - wide["seed"].map(own)
    wanted = [*keys, "difference", *(f"auroc_{name}" for name in DETECTORS)]
    found = pandas.concat([cells.reindex(columns=wanted), wide.reindex(columns=wanted)], ignore_index=True)
    found = chosen(found, series(found, "receiver") == "digit")
    return chosen(found, (series(found, "difference") >= 0) & series(found, "sender").isin(HONEST | LYING))


def separation(cells: DataFrame, column: str) -> float:
    """How often a stitch that lies has the higher score of two at one cut, ties counting half."""
    wins = []
    for _, rows in groups(cells, "receiver_cut"):
        lies = series(rows, "sender").isin(LYING)
        pairs = product(series(chosen(rows, lies), column), series(chosen(rows, ~lies), column))
        wins += [(one > other) + (one == other) / 2 for one, other in pairs]
    return float(np.mean(wins))


def scores() -> Figure:
    """What detectors tell of stitches into Digit that work: those that cannot carry a digit, and those that can."""
    cells = told("smith2025-senders-laptop")
    drawing = Figure(figsize=(7, 2.8), layout="constrained")
    for axes, name in zip(drawing.subplots(1, len(DETECTORS), sharey=True), DETECTORS, strict=True):
        column = f"auroc_{name}"
        axes.set_title(f"{name}: {separation(cells, column):.2f}")
        for honest, ink, mark, label, shift in (
            (True, COLOURS[0], "o", "may carry digits", -0.12),
            (False, COLOURS[1], "x", "cannot", 0.12),
        ):
            rows = chosen(cells, series(cells, "sender").isin(HONEST if honest else LYING))
            places = [CUTS.index(cut) + shift for cut in series(rows, "receiver_cut")]
            axes.plot(places, series(rows, column), linestyle="none", marker=mark, color=ink, alpha=0.7, label=label)
        axes.axhline(0.5, color=FAINT, linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(CUTS)), CUTS, rotation=40, ha="right")
    drawing.axes[0].set_ylabel("AUROC against the receiver's own")
    drawing.legend(*drawing.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return drawing


def empty(studies: Sequence[str]) -> DataFrame:
    """What noise and untrained senders reach over the receiver, and what trained senders do, cut by cut."""
    rows = []
    for study in studies:
        cells, controls = table(study, "cells"), table(study, "controls")
        own = cells.groupby(["receiver", "seed"])["unstitched"].first()
        found = where(controls, measure="accuracy")
        over = [
            value - own[receiver, seed] for receiver, seed, value in found[["receiver", "seed", "value"]].to_numpy()
        ]
        for (sender,), each in groups(found.assign(over=over), "sender"):
            rows.append([study, sender, len(each), series(each, "over").mean(), (series(each, "over") >= -0.02).mean()])
        trained = chosen(cells, series(cells, "sender") != series(cells, "receiver"))
        rows.append(
            [study, "trained", len(trained), trained["difference"].mean(), (trained["difference"] >= -0.02).mean()]
        )
    return DataFrame(rows, columns=["study", "sender", "cells", "points over the receiver", "share within two points"])


if __name__ == "__main__":
    with settings():
        for name, drawing in (("gains", gains()), ("scores", scores())):
            drawing.savefig(TOP / f"docs/beyond-{name}.svg", metadata={"Date": None, "Creator": None})
    done = sorted(path.parts[-4] for path in TOP.glob("studies/*/reports/tables/cells.csv"))
    print(empty(done).round(3).to_string(index=False))
