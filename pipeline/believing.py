"""Rows of trials → which index can be believed, a row an index and a column a question."""

import inspect
from collections.abc import Iterable, Iterator, Mapping

from pandas import DataFrame

from pipeline.figures.style import words
from pipeline.figures.tables import distinct, groups, where
from pipeline.naming import kind_of
from pipeline.page import Format, Table, table
from pipeline.registry import lookup
from pipeline.trials import TRIALS
from pipeline.trials.base import ACCURACY, ALL, RESIDUAL, Trial

Answer = Mapping[str, float]  # of all: value; low and high, p and chance where there are such

CAPTION = (
    "Each row is an index of similarity, or the accuracy or the residual of stitches taken for one; each column a "
    "question of which the answer is known, asked of it on this study’s networks. After the answer comes the interval "
    "it lies in, or how often chance alone would give as much (p); chance is what an index has that knows nothing. "
    "Believe an index no further than the questions that it answers better than chance, and hold indices against each "
    "other column by column: where intervals overlap, this study does not tell them apart. “–” is what is not defined."
)


def belief_table(rows: DataFrame, trials: Iterable[str]) -> Table:
    """Of the trials that are named; empty where there are none."""
    classes: dict[str, type[Trial]] = {name: lookup(f"trials.{name}", TRIALS, kind_of(name)) for name in trials}
    headings = {f"{name}.{part}": heading for name, cls in classes.items() for part, heading in cls.headings.items()}
    answers = {column: dict(_answers(rows, *column.split("."))) for column in headings}
    indices = [] if rows.empty else distinct(rows, "index")
    shown = [
        {"index": index, **{column: _text(found, index) for column, found in answers.items()}} for index in indices
    ]
    columns: dict[str, tuple[str, Format]] = {"index": ("index", title)}
    columns |= {column: (headings[column] + _chance(found), str) for column, found in answers.items()}
    asked = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0] for cls in classes.values())
    return table(f"{CAPTION} Asked is: {asked}", DataFrame(shown, columns=list(columns)), columns, keys=1)


def _answers(rows: DataFrame, trial: str, part: str) -> Iterator[tuple[str, Answer]]:
    """What is said of each index, by measure."""
    found = DataFrame() if rows.empty else where(rows, trial=trial, part=part, of=ALL)
    for (index,), said in groups(found, "index") if len(found) else ():
        yield index, dict(zip(said["measure"], said["value"], strict=True))


def _chance(found: Mapping[str, Answer]) -> str:
    """For the heading, where it is the same for all indices."""
    chances = {_number(answer["chance"]) for answer in found.values() if "chance" in answer}
    return f"; chance {chances.pop()}" if len(chances) == 1 else ""


def _text(found: Mapping[str, Answer], index: str) -> str:
    if index not in found:
        return "–"
    beside = "; ".join(_beside(found[index], told=bool(_chance(found))))
    value = _number(found[index]["value"])
    return f"{value} ({beside})" if beside else value


def _beside(answer: Answer, told: bool) -> Iterator[str]:
    if "low" in answer:
        yield f"{_number(answer['low'])} to {_number(answer['high'])}"
    if "p" in answer:
        yield f"p {answer['p']:.2g}"
    if "chance" in answer and not told:
        yield f"chance {_number(answer['chance'])}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def title(index: str) -> str:
    """How the page calls an index, or what stands for one."""
    for what in (ACCURACY, RESIDUAL):
        if index.startswith(what):
            return f"{what.strip('_')}, stitched by {words(index.removeprefix(what))}"
    return words(index)
