"""The curves of rows that grow, beside the page."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.ratios import Row

NAME = "bench-growth.svg"


def draw(rows: Sequence[Row], path: Path) -> None:
    """Seconds by layers and by samples, both axes logarithmic; nothing where no row has a point."""
    curves = dict[str, dict[str, list[tuple[float, float]]]]()
    for row in rows:
        if row.point:
            curve, x, seconds = row.point
            name, _, axis = curve.partition(" by ")
            curves.setdefault(axis, {}).setdefault(name, []).append((x, seconds))
    if not curves:
        return
    with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "none"}):
        figure = Figure(figsize=(4 * len(curves), 3.2), layout="constrained")
        for panel, (axis, named) in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True):
            for name, points in named.items():
                panel.loglog(*zip(*points, strict=True), marker="o", label=name)
            steps = sorted({x for points in named.values() for x, _ in points})
            panel.set(xlabel=axis, ylabel="seconds")
            panel.set_xticks(steps, [f"{step:,.0f}" for step in steps])
            panel.set_xticks([], minor=True)
            panel.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})
