"""What a paper says beside what was measured: its sentences held against rows, its numbers beside ours."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np
import pandas
from pandas import DataFrame, Series

from pipeline import page
from pipeline.errors import DataError, ParamsError, choices
from pipeline.figures.style import words
from pipeline.figures.tables import chosen, distinct, series, where
from pipeline.page import Format, Table
from pipeline.params import Claim, Published

HELD = ["says", "place", "outcome", "measured", "wanted", "rows", "seeds", "seeds_bearing_out"]
BESIDE = ["place", "label", "measure", "published", "measured", "deviation", "rows"]
PUBLISHED = ["place", "table", "label", "measure", "value"]  # all other columns are keys of the table's rows
BORNE_OUT, NOT = "borne out", "not borne out"


def held(claims: Sequence[Claim], tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each claim: what was measured over all seeds, and in how many seeds it would hold by itself."""
    return DataFrame([_held(i, claim, tables[claim.of]) for i, claim in enumerate(claims)], columns=HELD)


def _held(number: int, claim: Claim, table: DataFrame) -> list[Any]:
    place = f"claims[{number}]"
    rows = _chosen(f"{place}.where", claim.of, table, claim.where)
    others = None if claim.than is None else _chosen(f"{place}.than", claim.of, table, claim.than)
    for key, column in (("measure", claim.measure), ("minus", claim.minus)):
        if column is not None and not all(_defined(part, column) for part in (rows, others)):
            raise ParamsError(f"{place}.{key}: {column} is not defined for all of its {claim.of}; use another")
    seeds = distinct(rows, "seed") if "seed" in rows else []
    each = [
        _statistic(claim, where(rows, seed=seed), None if others is None else where(others, seed=seed))
        for seed in seeds
    ]
    value = _statistic(claim, rows, others)
    outcome = BORNE_OUT if claim.bears_out(value) else NOT
    return [
        claim.says,
        claim.place,
        outcome,
        value,
        claim.wanted,
        len(rows),
        len(each),
        sum(map(claim.bears_out, each)),
    ]


def _defined(rows: DataFrame | None, column: str) -> bool:
    return rows is None or (column in rows and not series(rows, column).isna().any())


def _chosen(place: str, of: str, table: DataFrame, wanted: Mapping[str, Any]) -> DataFrame:
    for key, values in wanted.items():
        if key not in table:
            raise ParamsError(f"{place}: {key} is no column of {of}; use one of {', '.join(map(str, table.columns))}")
        table = chosen(table, series(table, key).isin(values if isinstance(values, list) else [values]))
    if table.empty:
        raise ParamsError(f"{place}: chooses no row of {of}; it should choose one or more")
    return table


def _statistic(claim: Claim, rows: DataFrame, others: DataFrame | None) -> float:
    value = _taken(claim, rows)
    return value if others is None else value - _taken(claim, others)


def _taken(claim: Claim, rows: DataFrame) -> float:
    """Of means over seeds, so that a claim on every cell is one on what cells do on average."""
    keys = [column for column in rows.select_dtypes(exclude="number") if column not in ("seed", "words")]
    each = series(rows, claim.measure) - (series(rows, claim.minus) if claim.minus else 0.0)
    values = cast(Series, each.groupby([series(rows, key) for key in keys], sort=False).mean() if keys else each)
    return float({"least": values.min, "mean": values.mean, "greatest": values.max}[claim.take]())


def claims_table(rows: DataFrame) -> Table:
    """As the page shows what `held` found."""
    shown = rows.assign(
        seeds=[
            f"{bearing} of {count}" if count else "–"
            for bearing, count in zip(rows["seeds_bearing_out"], rows["seeds"], strict=True)
        ]
    )
    columns: dict[str, tuple[str, Format]] = {
        "says": ("the paper says", str),
        "place": ("where", str),
        "outcome": ("here", str),
        "measured": ("measured", page.number),
        "wanted": ("to be", str),
        "seeds": ("seeds that bear it out", str),
    }
    caption = (
        "Each row is a sentence, and the number of this study that would bear it out: the least, the mean or the "
        "greatest of means over seeds. What is not borne out here may be so at the paper’s scale."
    )
    return page.table(caption, shown, columns, keys=3)


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


def beside(root: str, published: Published, tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each number of the paper's named places, with ours; empty where this study has none."""
    found = DataFrame([_beside(row, tables) for row in read(root, published)], columns=BESIDE)
    return found.astype({"measured": float, "deviation": float})  # also where this study has none of them


def read(root: str, published: Published) -> list[dict[str, Any]]:
    """The numbers of the named places, as `published/NAME.csv` has them."""
    path = Path(root) / "published" / f"{published.paper}.csv"
    try:
        rows = pandas.read_csv(path, dtype=str, keep_default_na=False)
    except FileNotFoundError as error:
        raise ParamsError(f"published.paper: {path} is not there; name a file of that folder") from error
    missing = [column for column in PUBLISHED if column not in rows]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]}; it should have {', '.join(PUBLISHED)}")
    for place in published.places:
        if place not in distinct(rows, "place"):
            raise ParamsError(f"published.places: {place} is not in {path}; use {', '.join(distinct(rows, 'place'))}")
    found = chosen(rows, series(rows, "place").isin(published.places))
    tables = get_args(get_type_hints(Claim)["of"])
    for text in series(found, "table"):
        if text not in tables:
            raise DataError(f"{path}: table: is {text}; {choices(text, tables)}")
    for text in series(found, "value"):
        if not re.fullmatch(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", text):
            raise DataError(f"{path}: value: is {text!r}; it should be a number, or the row be left out")
    return cast(list[dict[str, Any]], found.astype({"value": float}).to_dict("records"))


def _beside(row: dict[str, Any], tables: Mapping[str, DataFrame]) -> list[Any]:
    keys = {key: value for key, value in row.items() if key not in PUBLISHED and value}
    table = tables[row["table"]]
    for key, value in keys.items() if len(table) else ():
        if key not in table:
            raise DataError(f"published: {key} is no column of {row['table']}; use one of {', '.join(table.columns)}")
        table = chosen(table, series(table, key).astype(str) == value)
    values = series(table, row["measure"]).to_numpy(np.float64) if row["measure"] in table else np.empty(0)
    values = values[~np.isnan(values)]  # an objective may be unable to have a control, or an index to see a layer
    mean = float(values.mean()) if len(values) else None
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return [row["place"], row["label"], row["measure"], row["value"], mean, deviation, len(values)]
