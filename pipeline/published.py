"""The numbers of a paper beside those of a study, and where their protocols differ."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np
import pandas
from pandas import DataFrame

from pipeline import page
from pipeline.errors import DataError, ParamsError, choices
from pipeline.figures.style import words
from pipeline.figures.tables import chosen, distinct, series
from pipeline.page import Format, Table
from pipeline.params import Claim, Published

BESIDE = ["place", "label", "measure", "published", "measured", "deviation", "rows"]
PROTOCOL = ["place", "setting", "paper", "here"]
_PUBLISHED = ["place", "table", "label", "measure", "take", "value"]  # all other columns are keys of the table's rows
_TAKEN = {"mean": np.mean, "least": np.min, "greatest": np.max, "deviation": lambda values: np.std(values, ddof=1)}


def beside(root: str, published: Published, tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each number of the paper's named places, with ours; empty where this study has none."""
    found = DataFrame([_beside(row, tables) for row in read(root, published)], columns=BESIDE)
    return found.astype({"measured": float, "deviation": float})  # also where this study has none of them


def read(root: str, published: Published) -> list[dict[str, Any]]:
    """The numbers of the named places, as `published/PAPER.csv` has them."""
    if not published.places:
        return []
    path = Path(root) / "published" / f"{published.paper}.csv"
    rows = _table(path, [column for column in _PUBLISHED if column != "take"])
    for place in published.places:
        if place not in distinct(rows, "place"):
            raise ParamsError(f"published.places: {place} is not in {path}; use {', '.join(distinct(rows, 'place'))}")
    found = chosen(rows, series(rows, "place").isin(published.places))
    _refuse_others(f"{path}: table", series(found, "table"), get_args(get_type_hints(Claim)["of"]))
    if "take" not in found:
        found = found.assign(take="")
    _refuse_others(f"{path}: take", filter(None, series(found, "take")), list(_TAKEN))
    for text in series(found, "value"):
        if not re.fullmatch(r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?", text):
            raise DataError(f"{path}: value: is {text!r}; it should be a number, or the row be left out")
    return cast(list[dict[str, Any]], found.astype({"value": float}).to_dict("records"))


def protocol(root: str, published: Published) -> DataFrame:
    """Where this project's settings differ from those of the paper's code, as `published/protocols/PAPER.csv` says."""
    path = Path(root) / "published/protocols" / f"{published.paper}.csv"
    if published.places and not path.exists():  # a paper of which there are numbers alone
        return DataFrame(columns=PROTOCOL)
    return _table(path, PROTOCOL)


def _table(path: Path, columns: list[str]) -> DataFrame:
    try:
        rows = pandas.read_csv(path, dtype=str, keep_default_na=False)
    except FileNotFoundError as error:
        raise ParamsError(f"published.paper: {path} is not there; name a file of that folder") from error
    missing = [column for column in columns if column not in rows]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]}; it should have {', '.join(columns)}")
    return rows


def _refuse_others(place: str, texts: Iterable[str], known: Sequence[str]) -> None:
    for text in texts:
        if text not in known:
            raise DataError(f"{place}: is {text}; {choices(text, known)}")


def _beside(row: dict[str, Any], tables: Mapping[str, DataFrame]) -> list[Any]:
    keys = {key: value for key, value in row.items() if key not in _PUBLISHED and value}
    table = tables[row["table"]]
    for key, value in keys.items() if len(table) else ():
        if key not in table:
            raise DataError(f"published: {key} is no column of {row['table']}; use one of {', '.join(table.columns)}")
        table = chosen(table, [fnmatchcase(str(there), value) for there in series(table, key)])
    values = series(table, row["measure"]).to_numpy(np.float64) if row["measure"] in table else np.empty(0)
    values = values[~np.isnan(values)]  # an objective may be unable to have a control, or an index to see a layer
    measured = float(_TAKEN[row["take"] or "mean"](values)) if len(values) > (row["take"] == "deviation") else None
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return [row["place"], row["label"], row["measure"], row["value"], measured, deviation, len(values)]


def published_table(rows: DataFrame) -> Table:
    """As the page shows what `beside` found."""
    columns: dict[str, tuple[str, Format]] = {
        "label": ("what", str),
        "place": ("where", str),
        "measure": ("measure", words),
        "published": ("published", page.number),
        "measured": ("measured here", page.number),
        "deviation": ("deviation over its rows", page.number),
        "rows": ("rows", str),
    }
    return page.table(
        "Numbers of the paper, and this study’s means; “–” is what it has none of.", rows, columns, keys=3
    )


def protocol_table(rows: DataFrame) -> Table:
    """As the page shows what `protocol` found."""
    columns: dict[str, tuple[str, Format]] = {
        "place": ("where", str),
        "setting": ("setting", str),
        "paper": ("the paper and its code", str),
        "here": ("here", str),
    }
    caption = "Of this paper’s studies in full. Smaller ones have fewer images, seeds, epochs, networks or channels."
    return page.table(caption, rows, columns, keys=2)
