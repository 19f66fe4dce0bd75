"""Tidy tables as files: what their columns are, and how they are read."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas
from pandas import DataFrame

from pipeline.errors import DataError

CELL = ["sender", "receiver", "seed", "data", "sender_cut", "receiver_cut", "map", "objective", "measure", "value"]
NETWORK = ["model", "seed", "data", "measure", "value"]
SIMILARITY = ["data", "model", "seed", "cut", "other_model", "other_seed", "other_cut", "measure", "value"]
TRUST = ["receiver", "seed", "cut", "detector", "measure", "value"]
TRIAL = ["trial", "data", "index", "part", "of", "measure", "value"]
HEIGHTS = ["detector", "low", "high", "own", "stitched"]
BARS = ["sender", "receiver", "seed", "objective", "sender_cut", "receiver_cut", *HEIGHTS]
CURVE = ["epoch", "rate", "loss"]
_NUMBERS = {"seed": int, "other_seed": int, "epoch": int, "rate": float, "loss": float, "value": float}
_NUMBERS |= {"low": float, "high": float, "own": int, "stitched": int}


def read_rows(path: Path, columns: list[str]) -> DataFrame:
    """The table in `path`; names stay texts, also where they look like numbers or like nothing."""
    kinds: dict[Hashable, Any] = {column: _NUMBERS.get(column, str) for column in columns}
    try:
        table = pandas.read_csv(path, dtype=kinds, keep_default_na=False, na_values={"value": ["", "nan"]})
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; `dvc repro` makes it") from error
    except ValueError as error:
        raise DataError(f"{path}: is not a table of numbers: {error}; delete it and run `dvc repro`") from error
    missing = [column for column in columns if column not in table]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]}; delete it and run `dvc repro`")
    return table.reindex(columns=columns)
