"""The sentences of a paper, held against what was measured."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pandas import DataFrame, Series

from pipeline import page
from pipeline.errors import ParamsError
from pipeline.figures.style import words
from pipeline.figures.tables import chosen, distinct, series, where
from pipeline.page import Format, Table
from pipeline.params import Claim

HELD = ["says", "place", "outcome", "of", "measured", "low", "high", "wanted", "rows", "seeds", "seeds_bearing_out"]
DIGITS = 12  # of what is held against a bound: 0.925 − 0.945 is not above −0.02, whatever its last bits
BORNE_OUT, NOT, UNDECIDED = "borne out", "not borne out", "undecided"


def held(claims: Sequence[Claim], tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each claim: what was measured, from low to high in single seeds, and in how many it would hold."""
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
    return [
        claim.says,
        claim.place,
        _outcome(claim, value, each),
        _said(claim),
        value,
        min(each, default=None),
        max(each, default=None),
        claim.wanted,
        len(rows),
        len(each),
        sum(map(claim.bears_out, each)),
    ]


def _outcome(claim: Claim, value: float, each: Sequence[float]) -> str:
    """Undecided where not every seed says what all of them say together; `ever` asks for no more than one."""
    bears = claim.bears_out(value)
    if claim.take != "ever" and any(claim.bears_out(single) != bears for single in each):
        return UNDECIDED
    return BORNE_OUT if bears else NOT


def _said(claim: Claim) -> str:
    """What was measured, in words."""
    what = words(claim.measure) + (f" − {words(claim.minus)}" if claim.minus else "")
    than = "" if claim.than is None else f", less that of {_rows(claim.than)}"
    if claim.take == "ever":
        return f"{'greatest' if claim.below is None else 'least'} {what} in any seed, of {_rows(claim.where)}"
    return f"{claim.take} {what} of {_rows(claim.where)}{than}"


def _rows(wanted: Mapping[str, Any]) -> str:
    told = {key: values if isinstance(values, list) else [values] for key, values in wanted.items()}
    return ", ".join(f"{words(key)} {' or '.join(map(str, values))}" for key, values in told.items()) or "all"


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
    found = value if others is None else value - _taken(claim, others)
    return round(found, DIGITS)


def _taken(claim: Claim, rows: DataFrame) -> float:
    """Of means over seeds, so that a claim on every cell is one on what cells do on average.

    What is said to happen now and then need happen in one seed only.
    """
    keys = [column for column in rows.select_dtypes(exclude="number") if column not in ("seed", "words")]
    each = series(rows, claim.measure) - (series(rows, claim.minus) if claim.minus else 0.0)
    if claim.take == "ever":
        return float(each.max() if claim.below is None else each.min())
    values = cast(Series, each.groupby([series(rows, key) for key in keys], sort=False).mean() if keys else each)
    return float({"least": values.min, "mean": values.mean, "greatest": values.max}[claim.take]())


def claims_table(rows: DataFrame) -> Table:
    """As the page shows what `held` found."""
    shown = rows.assign(
        spread=[
            f"{page.number(low)} to {page.number(high)}" if count > 1 else "–"
            for low, high, count in zip(rows["low"], rows["high"], rows["seeds"], strict=True)
        ],
        seeds=[
            f"{bearing} of {count}" if count else "–"
            for bearing, count in zip(rows["seeds_bearing_out"], rows["seeds"], strict=True)
        ],
    )
    columns: dict[str, tuple[str, Format]] = {
        "says": ("what is said", str),
        "place": ("where the paper says it", str),
        "outcome": ("here", str),
        "of": ("what was measured", str),
        "rows": ("of so many rows", str),
        "measured": ("measured", page.number),
        "spread": ("in single seeds", str),
        "wanted": ("to be", page.minus),
        "seeds": ("seeds that bear it out", str),
    }
    caption = (
        "Each row is a sentence, of the paper if it names a place there, and the number of this study that would bear "
        "it out: the least, the mean or the greatest of means over seeds, or what was ever reached in one of them, "
        "accuracies as shares of one. What that is to be is ours where the paper gives no number. Undecided is what "
        "not every seed says as all of them do together. What is not borne out here may be so at the paper’s scale."
    )
    return page.table(caption, shown, columns, keys=4)


def tally(rows: DataFrame) -> str:
    """How many sentences are borne out, in a sentence; nothing where there are none."""
    outcomes = series(rows, "outcome").tolist()
    count, open_ = outcomes.count(BORNE_OUT), outcomes.count(UNDECIDED)
    told = f"{count} of {len(rows)} sentences that are held against these data are borne out"
    return f"{told}, {open_} undecided." if open_ else f"{told}." if outcomes else ""
