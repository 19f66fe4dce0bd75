"""Reading tidy tables: rows by what they are of, always in the order of first appearance."""

from collections.abc import Iterator
from typing import Any, cast

from pandas import DataFrame, Series


def where(table: DataFrame, **wanted: object) -> DataFrame:
    """The rows whose columns have the wanted values."""
    for column, value in wanted.items():
        table = chosen(table, series(table, column) == value)
    return table


def chosen(table: DataFrame, mask: Any) -> DataFrame:
    return cast(DataFrame, table.loc[mask])


def series(table: DataFrame, column: str) -> Series:
    return cast(Series, table[column])


def distinct(table: DataFrame, column: str) -> list[Any]:
    """Each value of the column once."""
    return list(dict.fromkeys(series(table, column).tolist()))


def groups(table: DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], DataFrame]]:
    """The rows of each combination of values of `keys`, and the combination."""
    for key, rows in table.groupby(list(keys), sort=False):
        yield cast(tuple[Any, ...], key), rows


def summarised(table: DataFrame, keys: list[str], column: str, **how: str) -> DataFrame:
    """One row a combination of `keys`; `how` names the new columns and the pandas methods that give them."""
    values = cast(Any, table.groupby(keys, sort=False)[column])
    return DataFrame({name: getattr(values, method)() for name, method in how.items()}).reset_index()


def alike(rows: DataFrame) -> DataFrame:
    """Where a sender is cut at what the receiver is cut at and elsewhere too, only the rows of one cut in both."""
    same = series(rows, "sender_cut") == series(rows, "receiver_cut")
    keys = [series(rows, key) for key in ("sender", "receiver", "receiver_cut")]
    return chosen(rows, same | ~same.groupby(keys).transform("any"))
