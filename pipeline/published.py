"""The numbers of a paper beside those of a study, and where their protocols differ."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np
from pandas import DataFrame

from pipeline import page
from pipeline.errors import DataError, ParamsError, choices
from pipeline.figures.style import words
from pipeline.figures.tables import chosen, distinct, series
from pipeline.page import Format, Table
from pipeline.params import Claim, Published
from pipeline.tables import NETWORK, SIMILARITY, TRIAL
from pipeline.wide import KEYS

BESIDE = ["place", "label", "measure", "take", "published", "spread", "measured", "deviation", "difference", "rows"]
BESIDE += ["unstitched", "noise"]
PROTOCOL = ["place", "setting", "paper", "here", "source"]
_PUBLISHED = ["place", "table", "label", "measure", "value"]
_OPTIONAL = ["take", "spread"]
_NUMBER = r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?"
_KEYS = {*KEYS, "sender_lies", *NETWORK, *SIMILARITY, *TRIAL} - {"measure", "value"}  # of the tables' rows
_TAKEN: dict[str, Callable[[np.ndarray], Any]] = {
    "mean": np.mean, "least": np.min, "greatest": np.max, "deviation": np.std
}  # fmt: skip


def beside(root: str, published: Published, tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each number of the paper's named places, with ours; empty where this study has none."""
    found = DataFrame([_beside(row, tables) for row in read(root, published)], columns=BESIDE)
    numbers = ["spread", "measured", "deviation", "difference", "unstitched", "noise"]
    return found.astype(dict.fromkeys(numbers, float))  # also where this study has none of them


def read(root: str, published: Published) -> list[dict[str, Any]]:
    """The numbers of the named places, as `published/PAPER.csv` has them."""
    if not published.places:
        return []
    path = Path(root) / "published" / f"{published.paper}.csv"
    rows = _table(path, _PUBLISHED)
    _refuse_others(f"{path}: column", rows.columns, [*_PUBLISHED, *_OPTIONAL, *sorted(_KEYS)])
    for place in published.places:
        if place not in distinct(rows, "place"):
            raise ParamsError(f"published.places: {place} is not in {path}; use {', '.join(distinct(rows, 'place'))}")
    found = chosen(rows, series(rows, "place").isin(published.places))
    found = found.assign(take=series(found, "take").replace("", "mean") if "take" in found else "mean")
    _refuse_others(f"{path}: table", series(found, "table"), get_args(get_type_hints(Claim)["of"]))
    _refuse_others(f"{path}: take", series(found, "take"), list(_TAKEN))
    found = found.assign(spread=series(found, "spread").replace("", "nan") if "spread" in found else "nan")
    for column, others in (("value", "or the row be left out"), ("spread", "or nothing")):
        for label, text in zip(series(found, "label"), series(found, column), strict=True):
            if not re.fullmatch(_NUMBER, text) and (column, text) != ("spread", "nan"):
                raise DataError(f"{path}: {column} of {label!r}: is {text!r}; it should be a number, {others}")
    return cast(list[dict[str, Any]], found.astype({"value": float, "spread": float}).to_dict("records"))


def protocol(root: str, published: Published, study: str) -> DataFrame:
    """Where the settings of this study differ from those of the paper, as `published/protocols/PAPER.csv` says."""
    path = Path(root) / "published/protocols" / f"{published.paper}.csv"
    if published.places and not path.exists():  # a paper of which there are numbers alone
        return DataFrame(columns=PROTOCOL)
    rows = _table(path, ["studies", *PROTOCOL])
    ours = [any(fnmatchcase(study, pattern) for pattern in patterns.split()) for patterns in series(rows, "studies")]
    return chosen(rows, ours).reset_index(drop=True).reindex(columns=PROTOCOL)


def _table(path: Path, columns: list[str]) -> DataFrame:
    """All cells as they are written; a line with a comma too many shifts none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            names, lines = next(reader, []), [(reader.line_num, line) for line in reader]
    except FileNotFoundError as error:
        raise ParamsError(f"published.paper: {path} is not there; name a file of that folder") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error}); it should be CSV in UTF-8") from error
    missing = [column for column in columns if column not in names]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]}; it should have {', '.join(columns)}")
    for number, line in lines:
        if len(line) != len(names):
            raise DataError(f"{path}: line {number} has {len(line)} cells; it should have {len(names)}, as the first")
    return DataFrame([line for _, line in lines], columns=names)


def _refuse_others(place: str, texts: Iterable[str], known: Sequence[str]) -> None:
    for text in texts:
        if text not in known:
            raise DataError(f"{place}: is {text}; {choices(text, known)}")


def _beside(row: dict[str, Any], tables: Mapping[str, DataFrame]) -> list[Any]:
    keys = {key: value for key, value in row.items() if key in _KEYS and value}
    table, take = tables[row["table"]], row["take"]
    for key, value in keys.items() if len(table) else ():
        if key not in table:
            raise DataError(f"published: {key} is no column of {row['table']}; use one of {', '.join(table.columns)}")
        table = chosen(table, [fnmatchcase(str(there), value) for there in series(table, key)])
    values = series(table, row["measure"]).to_numpy(np.float64) if row["measure"] in table else np.empty(0)
    values = values[~np.isnan(values)]  # an objective may be unable to have a control, or an index to see a layer
    measured = float(_TAKEN[take](values)) if len(values) else None
    deviation = float(values.std(ddof=1)) if take == "mean" and len(values) > 1 else None
    difference = None if measured is None else measured - row["value"]
    numbers = [row["value"], row["spread"], measured, deviation, difference, len(values)]
    beside = [_mean(table, name) if row["measure"] == "accuracy" else None for name in ("unstitched", "noise")]
    return [row["place"], row["label"], row["measure"], take, *numbers, *beside]


def _mean(table: DataFrame, column: str) -> float | None:
    """What a stitched accuracy must not be shown without, where the table has it."""
    return float(series(table, column).mean()) if column in table and len(table) else None


def published_table(rows: DataFrame) -> Table:
    """As the page shows what `beside` found."""
    shown = rows.assign(
        published=[_spread(*each) for each in zip(rows["published"], rows["spread"], strict=True)],
        measured=[_spread(*each) for each in zip(rows["measured"], rows["deviation"], strict=True)],
    )
    columns: dict[str, tuple[str, Format]] = {
        "label": ("what", str),
        "place": ("where", str),
        "measure": ("measure", words),
        "take": ("of its rows", str),
        "published": ("published", str),
        "measured": ("measured here", str),
        "difference": ("here less published", page.number),
        "rows": ("rows", str),
    }
    columns |= {"unstitched": ("receiver unstitched", page.number)} if bool(rows["unstitched"].notna().any()) else {}
    columns |= {"noise": ("noise in the sender’s place", page.number)} if bool(rows["noise"].notna().any()) else {}
    caption = (
        "Numbers of the paper and of this study, after ± the paper’s deviation and that over the study’s rows; “–” is "
        "what it has none of. Beside accuracies of stitches are what their receivers reach unstitched, and with noise."
    )
    return page.table(caption, shown, columns, keys=4)


def _spread(value: float, deviation: float) -> str:
    return page.number(value) if np.isnan(deviation) else f"{page.number(value)} ± {deviation:.2g}"


def protocol_table(rows: DataFrame) -> Table:
    """As the page shows what `protocol` found."""
    columns: dict[str, tuple[str, Format]] = {
        "place": ("where", str),
        "setting": ("setting", str),
        "paper": ("the paper and its code", str),
        "here": ("here", str),
        "source": ("source", str),
    }
    caption = "Settings that are not the paper’s. Besides, this study is of the size told at the top of this page."
    return page.table(caption, rows, columns, keys=5)
