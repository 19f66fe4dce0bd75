"""Draws the figures of beyond.md and prints its tables, from what studies keep: ``python docs/beyond.py``."""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame, Series

from pipeline.figures.style import COLOURS, FAINT, INK, MARKERS, saved, settings, words
from pipeline.figures.tables import chosen, distinct, groups, series, summarised, where
from pipeline.loading import load_params
from pipeline.wide import KEYS, wide

TOP = Path(__file__).resolve().parent.parent
MODES = {  # how BatchNorms of sender and receiver count
    "both by their own": "batchnorm-eval",
    "sender recalibrated": "batchnorm-recalibrated",
    "and receiver by batches": "smith2025-senders-laptop",
    "both by batches": "batchnorm-batch",
}
RECEIVERS = {
    "receiver by its own statistics": MODES["sender recalibrated"],
    "receiver by batches": MODES["and receiver by batches"],
}
FULL = {"by batches": "smith2025-senders-seed-0", "frozen": "batchnorm-full-recalibrated"}
FEWER = {
    "stitched, both by their own": "batchnorm-wide-eval",
    "stitched, sender recalibrated": "batchnorm-wide-recalibrated",
    "stitched, and receiver by batches": "batchnorm-wide-receiver",
    "stitched, both by batches": "batchnorm-wide-batch",
}
ALIKE = {"ViT-Ti": "balogh2025-vit-laptop", "ResNet-18": "balogh2025-resnet-laptop"}  # networks that differ by chance
WAYS = {"task": "for the task", "direct": "directly"}
SENDERS = {
    "digit": "Digit into itself",
    "correlated": "Correlated",
    "colour_only": "Colour-Only",
    "noise": "clustered noise",
}
KNEW = {"digit": "knew digits", "colour_only": "never saw one", "noise": "noise"}
OTHERS = ["correlated", "colour_only"]  # that all four studies stitch into Digit
CUTS = ["maxpool", "layer1", "layer2", "layer3", "layer4"]
DETECTORS = ("mahalanobis", "nearest", "tail_energy")


def table(study: str, name: str) -> DataFrame:
    return pandas.read_csv(TOP / "studies" / study / "reports/tables" / f"{name}.csv")


@cache
def cells(study: str) -> DataFrame:
    """All cells of a study, those of its controls among them, with what the receiver reaches unstitched, by cut."""
    own = table(study, "cells")
    controls = wide(pandas.concat([table(study, "controls"), table(study, "control_audits")]), KEYS)
    found = pandas.concat([own, controls], ignore_index=True)
    for column in ("unstitched", "recalibrated"):
        known = own.groupby(["receiver", "seed"])[column].first()
        found[column] = [known[place] for place in zip(found["receiver"], found["seed"], strict=True)]
    found["difference"] = series(found, "accuracy") - series(found, "unstitched")
    order = distinct(own, "receiver_cut")
    return found.sort_values("receiver_cut", key=lambda cuts: cuts.map(order.index), kind="stable")


def reaching(study: str, rows: DataFrame) -> DataFrame:
    """Those that fall short of their receiver by the study's margin at most."""
    margin = load_params(TOP / "studies" / study / "params.yaml").verdict.margin
    return chosen(rows, series(rows, "difference") >= -margin - 1e-9)  # shares of images, so the margin may be met


def gains() -> Figure:
    """What four senders reach in Digit on Correlated images, by how the receiver's BatchNorms count."""
    drawing = Figure(figsize=(7, 2.7), layout="constrained")
    for axes, (sender, title) in zip(drawing.subplots(1, len(SENDERS), sharey=True), SENDERS.items(), strict=True):
        axes.set_title(title)
        for number, (label, study) in enumerate(RECEIVERS.items()):
            rows = where(cells(study), sender=sender, receiver="digit")
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
    """Digit stitched into itself: points over Digit unstitched, with the deviation over seeds."""
    found: dict[str, dict[str, str]] = {cut: {} for cut in CUTS}
    for mode, study in MODES.items():
        for (cut,), each in groups(where(cells(study), sender="digit", receiver="digit"), "receiver_cut"):
            found[cut][mode] = spread(series(each, "difference"))
    return DataFrame([{"cut": cut, **told} for cut, told in found.items()])


def full() -> DataFrame:
    """At full size, one seed: points over Digit unstitched, its BatchNorms by batches and by its own statistics."""
    rows = [{"cut": cut} for cut in CUTS]
    for sender in ("digit", "colour_only", "noise"):
        for mode, study in FULL.items():
            found = where(cells(study), sender=sender, receiver="digit")
            gained = dict(zip(series(found, "receiver_cut"), series(found, "difference"), strict=True))
            for row in rows:
                row[f"{SENDERS[sender]}, {mode}"] = points(gained[row["cut"]])
    return DataFrame(rows)


def fewer() -> DataFrame:
    """Of the paper's network on fewer images: points over Digit unstitched, of recalibration alone and of stitches."""
    rows = []
    for cut in ("layer2", "layer3"):
        parts = {
            mode: where(cells(study), sender="digit", receiver="digit", receiver_cut=cut)
            for mode, study in FEWER.items()
        }
        alone = parts["stitched, both by their own"]
        gained = {"recalibrated, no stitch": series(alone, "recalibrated") - series(alone, "unstitched")}
        gained |= {mode: series(part, "difference") for mode, part in parts.items()}
        rows.append({"cut": cut, **{told: spread(each) for told, each in gained.items()}})
    return DataFrame(rows)


def points(difference: float) -> str:
    return f"{100 * difference:+.1f}"


def spread(differences: Series) -> str:
    """Points, mean and deviation over seeds."""
    return f"{points(differences.mean())} ± {100 * differences.std():.1f}"


def knowing(study: str) -> DataFrame:
    """Cells that reach Digit, of senders that know digits for certain and of those that cannot."""
    rows = reaching(study, where(cells(study), receiver="digit"))
    rows = rows.assign(knew=series(rows, "sender").map(KNEW))
    return rows.dropna(subset="knew")


def separation(rows: DataFrame, column: str, knew: str) -> str:
    """How often, of two at one cut and of one seed, that which `knew` has the higher AUROC: over seeds, and of each."""
    each = []
    for _, seed in groups(rows, "seed"):
        wins = list[float]()
        for _, cut in groups(seed, "receiver_cut"):
            ones, others = (series(where(cut, knew=name), column).tolist() for name in (knew, "knew digits"))
            wins += [(one > other) + (one == other) / 2 for one, other in product(ones, others)]
        if wins:
            each.append(float(np.mean(wins)))
    return f"{np.mean(each):.2f} ({', '.join(f'{share:.2f}' for share in sorted(each))})"


def scores() -> Figure:
    """What detectors tell of stitches into Digit that reach it, by what their senders knew."""
    drawing = Figure(figsize=(7, 4.4), layout="constrained")
    grid = drawing.subplots(len(RECEIVERS), len(DETECTORS), sharex=True, sharey=True)
    for across, (told, study) in zip(grid, RECEIVERS.items(), strict=True):
        rows = knowing(study)
        across[0].set_ylabel(f"{told}\nAUROC against Digit’s own")
        for axes, name in zip(across, DETECTORS, strict=True):
            axes.set_title(words(name))
            for number, knew in enumerate(dict.fromkeys(KNEW.values())):
                part = where(rows, knew=knew)
                places = [CUTS.index(cut) + 0.2 * (number - 1) for cut in series(part, "receiver_cut")]
                look = {"color": COLOURS[number], "marker": MARKERS[number], "linestyle": "none", "alpha": 0.7}
                axes.plot(places, series(part, f"auroc_{name}").tolist(), label=knew, **look)
            axes.axhline(0.5, color=FAINT, linewidth=0.8, linestyle=":")
            axes.set_xticks(range(len(CUTS)), CUTS, rotation=40, ha="right")
    drawing.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawing


def separations() -> DataFrame:
    """By receiver and detector: the least AUROC there is, and how often those that know nothing have the higher one."""
    rows = []
    for told, study in RECEIVERS.items():
        found = knowing(study)
        for name in DETECTORS:
            column = f"auroc_{name}"
            parts = [separation(found, column, knew) for knew in ("never saw one", "noise")]
            rows.append([told, words(name), len(found), f"{series(found, column).min():.4f}", *parts])
    return DataFrame(rows, columns=["BatchNorms", "detector", "cells", "least", "never saw a digit", "noise"])


def energies() -> DataFrame:
    """At full size, one seed: the AUROC of the tail's energy, cut by cut, of cells that reach Digit."""
    rows = [{"cut": cut} for cut in CUTS]
    for mode, study in FULL.items():
        found = knowing(study)
        for row, (sender, title) in product(rows, SENDERS.items()):
            if sender in KNEW:
                cell = where(found, sender=sender, receiver_cut=row["cut"])
                row[f"{title}, {mode}"] = f"{series(cell, 'auroc_tail_energy').item():.2f}" if len(cell) else "–"
    return DataFrame(rows)


def empty() -> DataFrame:
    """By mode: how many cells of each kind of sender reach Digit, and by how much the median is over or under it."""
    rows = []
    for mode, study in MODES.items():
        found = where(cells(study), receiver="digit")
        parts = {"trained on other data": chosen(found, series(found, "sender").isin(OTHERS))}
        parts |= {name: where(found, sender=kind) for name, kind in (("untrained", "random"), ("noise", "noise"))}
        told = {
            name: f"{len(reaching(study, part))} of {len(part)} ({points(series(part, 'difference').median())})"
            for name, part in parts.items()
        }
        rows.append({"BatchNorms": mode, **told})
    return DataFrame(rows)


def directly() -> DataFrame:
    """Layers of networks that differ by chance into the same layer: points over the receiver, and mean AUROCs."""
    rows = []
    for network, study in ALIKE.items():
        found = cells(study)
        level = chosen(found, series(found, "sender_cut") == series(found, "receiver_cut"))
        untrained = series(level, "sender") == "random"
        own = series(level, "sender") == series(level, "receiver")
        senders = {"another": ~own & ~untrained, "itself": own, "untrained": untrained}
        for (objective, told), (sender, mask) in product(WAYS.items(), senders.items()):
            part = where(chosen(level, mask), objective=objective)
            row = {"network": network, "stitched": told, "sender": sender}
            row["points"] = points(series(part, "difference").mean())
            rows.append(
                row | {name: f"{series(part, f'auroc_{name}').mean():.2f}" for name in ("mahalanobis", "energy")}
            )
    return DataFrame(rows)


def markdown(rows: DataFrame) -> str:
    lines = [list(rows.columns), ["---" for _ in rows.columns], *rows.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def svg(figure: Callable[[], Figure]) -> bytes:
    with settings():
        return saved(figure(), "svg")


TABLES = (itself, full, fewer, empty, separations, energies, directly)
FIGURES = (gains, scores)

if __name__ == "__main__":
    for figure in FIGURES:
        (TOP / f"docs/beyond-{figure.__name__}.svg").write_bytes(svg(figure))
    for rows in TABLES:
        print(markdown(rows()))
