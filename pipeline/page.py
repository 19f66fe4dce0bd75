"""The report as one page that needs nothing beside it: no network, no other file, no script."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pandas import DataFrame

from pipeline.arrays import Json
from pipeline.figures.base import Figure
from pipeline.figures.style import COLOURS, FAINT, INK, LINES, PAPER
from pipeline.params import Study

# What the style sheet defines twice, for the light and for the dark.
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", LINES: "var(--lines)", PAPER: "var(--paper)"}
_VARIABLES |= {colour: f"var(--line-{i})" for i, colour in enumerate(COLOURS)}

Format = Callable[[Any], str]


@dataclass(frozen=True)
class Picture:
    name: str
    heading: str
    alternative: str  # what it shows, for those who cannot see it
    caption: tuple[str, ...]
    svg: Markup


@dataclass(frozen=True)
class Table:
    """Cells of text; the first `keys` columns say what a row is of, the rest are numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int


@dataclass(frozen=True)
class Contents:
    study: Study
    finding: Sequence[str]
    pictures: Sequence[Picture]
    verdicts: Table
    cells: Table  # empty where there are more than a page can show
    controls: Table
    networks: Table
    detectors: Table
    trials: Table
    claims: Table
    published: Table
    protocol: Table
    seeds: str
    stages: Table
    versions: Table  # empty where nothing was run on this machine
    digests: Table
    data: Json  # the rows behind the page, for programs


def html(contents: Contents) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(contents=contents)


def picture(name: str, figure: Figure, svg: bytes) -> Picture:
    """A figure as the page shows it; words from its docstring, and what its name says beyond its kind."""
    first, *rest = (inspect.getdoc(type(figure)) or "").split("\n\n")
    alternative = " ".join(first.split())
    caption = tuple(" ".join(paragraph.split()) for paragraph in rest)
    _, _, label = name.partition("-")
    heading = f"{figure.heading}: {label}" if label else figure.heading
    return Picture(name, heading, alternative, caption, inlined(svg.decode("utf-8"), name, alternative))


def inlined(svg: str, name: str, alternative: str) -> Markup:
    """An SVG file as an element of a page with others like it.

    Its ids get the figure's name before them, or the second figure would use the first one's
    clips; its ink and paper become the page's, so that it can be read in the dark.
    """
    element = svg[svg.index("<svg") :]
    # A style in an inlined SVG holds for the whole page; comments and metadata say nothing here.
    element = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", element, flags=re.DOTALL)
    element = re.sub(r"\bid=\"", f'id="{name}--', element)
    element = re.sub(r"xlink:href=\"#", f'href="#{name}--', element)
    element = re.sub(r"url\(#", f"url(#{name}--", element)
    element = re.sub(r" xmlns(:xlink)?=\"[^\"]*\"", "", element)
    for colour, variable in _VARIABLES.items():
        element = element.replace(colour, variable)
    return Markup(element.replace("<svg", f'<svg role="img" aria-label="{escape(alternative)}"', 1))


def table(caption: str, rows: DataFrame, columns: dict[str, tuple[str, Format]], keys: int) -> Table:
    """`rows` as text; `columns` maps each column to show to its heading and how its values read."""
    cells = zip(*(map(show, rows[column]) for column, (_, show) in columns.items()), strict=True)
    return Table(caption, tuple(heading for heading, _ in columns.values()), tuple(cells), keys)


def columns_of(rows: DataFrame) -> Json:
    """A table for programs: names of columns once, then rows; what is not a number is null."""
    values = rows.astype(object).where(rows.notna(), None)
    return {"columns": list(rows.columns), "rows": values.to_numpy().tolist()}


def percent(share: float) -> str:
    return _or_dash(share, f"{100 * share:.2f} %")


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    rounded = round(100 * share, 2) + 0.0 if not pandas.isna(share) else share  # +0.0: no minus zero
    return _or_dash(share, minus(f"{rounded:+.2f}") if rounded else "0.00")


def share(value: float) -> str:
    return _or_dash(value, f"{100 * value:.0f} %" if not pandas.isna(value) else "")


def ratio(value: float) -> str:
    return _or_dash(value, f"{value:.2f}")


def number(value: float) -> str:
    return _or_dash(value, minus(f"{value:.4g}"))


def minus(text: str) -> str:
    """With the sign for a hyphen."""
    return text.replace("-", "−")


def similarity(value: float) -> str:
    return _or_dash(value, minus(f"{value:.3f}"))


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def size(count: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def _or_dash(value: float, text: str) -> str:
    return "–" if pandas.isna(value) else text
