"""What a study's similarities are called, and how they lie over seeds."""

from typing import Any

from pandas import DataFrame, Series

from pipeline.figures.tables import chosen, series, summarised

LAYERS = ["data", "model", "seed", "cut", "other_model", "other_seed", "other_cut"]
_MINUS = str.maketrans("-", "−")


def calibrated(index: str) -> str:
    """The measure that holds an index with chance at 0 and the best at 1."""
    return f"{index}_calibrated"


def over_seeds(similarity: DataFrame) -> DataFrame:
    """Mean and deviation over seeds of each measure of each pair of layers, of networks of one seed."""
    rows = chosen(similarity, series(similarity, "seed") == series(similarity, "other_seed"))
    keys = ["data", "model", "cut", "other_model", "other_cut", "measure"]
    return summarised(rows, keys, "value", seeds="count", mean="mean", deviation="std")


def spread(values: Any) -> str:
    """The mean over seeds with their deviation; alone where there is one seed, a dash where there is none."""
    known = Series(values).dropna()
    if known.empty:
        return "–"
    text = f"{known.mean():.3f}"
    return (text if len(known) == 1 else f"{text} ± {known.std():.3f}").translate(_MINUS)


def defined(cells: DataFrame, measure: str) -> bool:
    """Whether some cell has the measure."""
    return measure in cells and bool(series(cells, measure).count())
