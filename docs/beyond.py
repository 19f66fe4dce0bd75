"""Draws the figures of beyond.md and prints its tables, from what studies keep: ``python docs/beyond.py``."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame

from pipeline.figures.style import COLOURS, FAINT, INK, MARKERS, settings
from pipeline.figures.tables import chosen, groups, series, summarised, where

TOP = Path(__file__).resolve().parent.parent
MODES = {  # how BatchNorms of sender and receiver count, and the studies of it: narrow at five cuts, wide at two
    "both by their own": ("batchnorm-eval", "batchnorm-wide-eval"),
    "sender recalibrated": ("batchnorm-recalibrated", "batchnorm-wide-recalibrated"),
    "and receiver by batches": ("smith2025-senders-laptop", "batchnorm-wide-receiver"),
    "both by batches": ("batchnorm-batch", "batchnorm-wide-batch"),
}
RECEIVERS = {"receiver by its own statistics": "sender recalibrated", "receiver by batches": "and receiver by batches"}
SENDERS = {
    "digit": "Digit into itself",
    "correlated": "Correlated",
    "colour_only": "Colour-Only",
    "noise": "clustered noise",
}
CUTS = ["maxpool", "layer1", "layer2", "layer3", "layer4"]
CARRY = ("digit", "correlated", "bw")  # senders that learnt from images with a digit in them
CANNOT = ("colour_only", "noise")  # one saw no digit, the other is no image
DETECTORS = ("mahalanobis", "nearest", "tail_energy")
KEYS = ["sender", "receiver", "seed", "receiver_cut", "objective"]
TIE = 0.02  # as good as the receiver, but for two points: `verdict.margin` of all studies


def table(study: str, name: str) -> DataFrame:
    return pandas.read_csv(TOP / "studies" / study / "reports/tables" / f"{name}.csv")


def cells(study: str) -> DataFrame:
    """All cells of a study, those of its controls among them, with what the receiver reaches unstitched."""
    own = table(study, "cells")
    rows = pandas.concat([table(study, "controls"), table(study, "control_audits")])
    controls = rows.pivot(index=KEYS, columns="measure", values="value").reset_index()
    found = pandas.concat([own, controls], ignore_index=True)
    for column in ("unstitched", "recalibrated"):
        known = own.groupby(["receiver", "seed"])[column].first()
        found[column] = [known[place] for place in zip(found["receiver"], found["seed"], strict=True)]
    return found.assign(difference=series(found, "accuracy") - series(found, "unstitched"))


def gains() -> Figure:
    """What four senders reach in Digit on Correlated images, by how the receiver's BatchNorms count."""
    drawing = Figure(figsize=(7, 2.7), layout="constrained")
    for axes, (sender, title) in zip(drawing.subplots(1, len(SENDERS), sharey=True), SENDERS.items(), strict=True):
        axes.set_title(title)
        for number, (label, mode) in enumerate(RECEIVERS.items()):
            rows = where(cells(MODES[mode][0]), sender=sender, receiver="digit")
            line(axes, rows, "accuracy", color=COLOURS[number], marker=MARKERS[number], label=label)
            for _, each in groups(rows, "seed"):
                line(axes, each, "accuracy", color=COLOURS[number], linewidth=0.5, alpha=0.5)
            line(axes, rows, "unstitched", color=INK, linestyle="--", linewidth=0.9, label="Digit, unstitched")
        axes.set_xticks(range(len(CUTS)), CUTS, rotation=40, ha="right")
        axes.grid(axis="y")
    axes = drawing.axes[0]
    axes.set_ylabel("accuracy")
    told = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    drawing.legend(told.values(), told.keys(), loc="outside upper center", ncols=3)
    return drawing


def line(axes: Axes, rows: DataFrame, column: str, **look: Any) -> None:
    """Of means over seeds, cut by cut."""
    means = summarised(rows, ["receiver_cut"], column, mean="mean")
    places = [CUTS.index(cut) for cut in series(means, "receiver_cut")]
    axes.plot(places, series(means, "mean").tolist(), **look)


def itself() -> DataFrame:
    """Digit stitched into itself: over Digit unstitched and recalibrated, in points, with the deviation over seeds."""
    rows = []
    for (mode, studies), wide in product(MODES.items(), (False, True)):
        own = where(cells(studies[wide]), sender="digit", receiver="digit")
        for (cut,), each in groups(own, "receiver_cut"):
            over = [100 * (series(each, "accuracy") - series(each, base)) for base in ("unstitched", "recalibrated")]
            told = [f"{points.mean():+.1f} ± {points.std():.1f}" for points in over]
            rows.append([["narrow", "full width"][wide], cut, mode, f"{series(each, 'unstitched').mean():.3f}", *told])
    names = ["network", "cut", "BatchNorms", "unstitched", "over unstitched", "over recalibrated"]
    return DataFrame(rows, columns=names).sort_values(["network", "cut"], kind="stable")


def separation(rows: DataFrame, column: str) -> float:
    """How often, of two at one cut, the one whose sender knew no digit has the higher AUROC; ties count half."""
    wins = list[float]()
    for _, each in groups(rows, "receiver_cut"):
        empty = series(each, "sender").isin(CANNOT)
        ones, others = (series(chosen(each, mask), column).tolist() for mask in (empty, ~empty))
        wins += [(one > other) + (one == other) / 2 for one, other in product(ones, others)]
    return float(np.mean(wins)) if wins else float("nan")


def working(study: str) -> DataFrame:
    """Cells into Digit that are as good as it is, of senders that knew digits and that did not."""
    rows = cells(study)
    good = chosen(rows, series(rows, "difference") >= -TIE)
    return chosen(good, series(good, "sender").isin(CARRY + CANNOT))


def scores() -> Figure:
    """What detectors tell of stitches into Digit that work, of senders that knew digits and that did not."""
    drawing = Figure(figsize=(7, 4.4), layout="constrained")
    grid = drawing.subplots(len(RECEIVERS), len(DETECTORS), sharex=True, sharey=True)
    for across, (told, mode) in zip(grid, RECEIVERS.items(), strict=True):
        rows = working(MODES[mode][0])
        across[0].set_ylabel(f"{told}\nAUROC against Digit’s own")
        for axes, name in zip(across, DETECTORS, strict=True):
            axes.set_title(f"{name}: {separation(rows, f'auroc_{name}'):.2f}")
            for number, (label, senders) in enumerate({"knew digits": CARRY, "knew none": CANNOT}.items()):
                part = chosen(rows, series(rows, "sender").isin(senders))
                places = [CUTS.index(cut) + 0.24 * number - 0.12 for cut in series(part, "receiver_cut")]
                values = series(part, f"auroc_{name}").to_numpy()
                axes.plot(places, values, "ox"[number], color=COLOURS[number], alpha=0.7, label=label)
            axes.axhline(0.5, color=FAINT, linewidth=0.8, linestyle=":")
            axes.set_xticks(range(len(CUTS)), CUTS, rotation=40, ha="right")
    drawing.legend(*drawing.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return drawing


def separations() -> DataFrame:
    """By mode and detector."""
    rows = [
        [mode, len(working(study)), *(f"{separation(working(study), f'auroc_{name}'):.2f}" for name in DETECTORS)]
        for mode, (study, _) in MODES.items()
    ]
    return DataFrame(rows, columns=["BatchNorms", "stitches that work", *DETECTORS])


def empty() -> DataFrame:
    """By study: how many cells of trained senders, of untrained ones and of noise are as good as the receiver."""
    rows = []
    for path in sorted(TOP.glob("studies/*/reports/tables/cells.csv")):
        study = path.parents[2].name
        own = table(study, "cells")
        if "random" not in own and "noise" not in own:
            continue
        own = chosen(own, (series(own, "sender") != series(own, "receiver")) & (series(own, "objective") == "task"))
        row = {"study": study, "trained": share(series(own, "accuracy") - series(own, "unstitched"))}
        for name in ("random", "noise", "probe"):
            if name in own:
                keys = ["receiver", "seed", "receiver_cut"] + (["sender", "sender_cut"] if name == "probe" else [])
                once = own.drop_duplicates(keys)
                row[name] = share((series(once, name) - series(once, "unstitched")).dropna())
        rows.append(row)
    return DataFrame(rows).fillna("–")


def share(over: pandas.Series) -> str:
    return f"{sum(over >= -TIE)} of {len(over)} ({100 * over.median():+.1f})"


def markdown(rows: DataFrame) -> str:
    lines = [list(rows.columns), ["---"] * len(rows.columns), *rows.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


if __name__ == "__main__":
    with settings():
        for name, drawing in (("gains", gains()), ("scores", scores())):
            drawing.savefig(TOP / f"docs/beyond-{name}.svg", metadata={"Date": None, "Creator": None})
    for rows in (itself(), separations(), empty()):
        print(markdown(rows))
