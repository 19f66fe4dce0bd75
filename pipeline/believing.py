"""Rows of trials → which index can be believed, a row an index and a column a question."""

import inspect
from collections.abc import Iterable, Iterator, Mapping

from pandas import DataFrame

from pipeline.figures.style import words
from pipeline.figures.tables import distinct, where
from pipeline.page import Format, Table, table
from pipeline.registry import lookup
from pipeline.trials import TRIALS
from pipeline.trials.base import ALL, Trial

CAPTION = (
    "Each row is an index of similarity, or the accuracy of stitched networks taken for one; each column a question of "
    "which the answer is known, asked of it on this study’s networks. After the answer comes the interval it lies in, "
    "or how often chance alone would give as much (p), and what an index that knows nothing would have (chance). "
    "Believe an index no further than the questions that it answers better than chance, and hold indices against each "
    "other column by column: where intervals overlap, this study does not tell them apart. “–” is what is not defined."
)


def belief_table(rows: DataFrame, trials: Iterable[str]) -> Table:
    """Of the trials that are named; empty where there are none."""
    classes: dict[str, type[Trial]] = {name: lookup(f"trials.{name}", TRIALS, name) for name in trials}
    headings = {f"{name}.{part}": heading for name, cls in classes.items() for part, heading in cls.headings.items()}
    indices = [] if rows.empty else distinct(rows, "index")
    shown = [{"index": index, **answers(where(rows, index=index), headings)} for index in indices]
    columns: dict[str, tuple[str, Format]] = {"index": ("index", title)}
    columns |= {column: (heading, str) for column, heading in headings.items()}
    asked = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0] for cls in classes.values())
    return table(f"{CAPTION} Asked is: {asked}", DataFrame(shown, columns=list(columns)), columns, keys=1)


def answers(rows: DataFrame, columns: Iterable[str]) -> dict[str, str]:
    """What is said of one index, by trial.part."""
    return {column: _answer(rows, *column.split(".")) for column in columns}


def _answer(rows: DataFrame, trial: str, part: str) -> str:
    found = where(rows, trial=trial, part=part, of=ALL)
    numbers = dict(zip(found["measure"], found["value"], strict=True))
    if "value" not in numbers:
        return "–"
    beside = "; ".join(_beside(numbers))
    return f"{_number(numbers['value'])} ({beside})" if beside else _number(numbers["value"])


def _beside(numbers: Mapping[str, float]) -> Iterator[str]:
    if "low" in numbers:
        yield f"{_number(numbers['low'])} to {_number(numbers['high'])}"
    if "p" in numbers:
        yield f"p {numbers['p']:.2g}"
    if "chance" in numbers:
        yield f"chance {_number(numbers['chance'])}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def title(index: str) -> str:
    """How the page calls an index, or what stands for one."""
    functional = index.removeprefix("accuracy_")
    return words(index) if functional == index else f"accuracy, stitched by {words(functional)}"
