"""Ratios taken side by side: contenders run in turn, again and again, and the best of each counts.

A machine that others use slows one repetition and not the next, so times of different runs cannot be
compared; the best of several turns can, and the spread of the turns says how far to believe it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    run: Callable[[], object]  # timed
    clear: Callable[[], object]  # afterwards, not timed


@dataclass(frozen=True)
class Row:
    """One line of the table; `ratio` is above 1 where ours is faster than what it is held against."""

    part: str  # the key of its explanation
    name: str
    ours: str
    limit: str
    bytes: int  # moved by ours; 0 where none are counted
    ratio: float
    spread: tuple[float, float]
    mark: float | None  # None where the row is there to explain another
    point: tuple[str, float, float] | None = None  # curve, x and seconds, where rows are plotted

    @property
    def verdict(self) -> str:
        if self.mark is None:
            return "–"
        return "met" if self.ratio >= self.mark else "missed"


Times = Mapping[str, Sequence[float]]


def timed(run: Callable[[], object]) -> float:
    """Seconds that `run` takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def side_by_side(contenders: Mapping[str, Contender], repetitions: int) -> Times:
    """Seconds by contender and repetition, after one turn that does not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repetitions + 1):
        order = list(contenders)[:: 1 if turn % 2 else -1]  # none always follows the same one
        for name in order:
            seconds = timed(contenders[name].run)
            contenders[name].clear()
            if turn:
                times[name].append(seconds)
    return times


def ratio_row(
    part: str, name: str, times: Times, ours: str, limits: Sequence[str], size: int, mark: float | None
) -> Row:
    """`ours` against the slower of `limits`."""
    best = {key: min(times[key]) for key in (ours, *limits)}
    limit = max(limits, key=best.__getitem__)
    turns = [theirs / mine for theirs, mine in zip(times[limit], times[ours], strict=True)]
    return Row(
        part, name, seconds(best[ours]), ", ".join(f"{key} {seconds(best[key])}" for key in limits),
        size, best[limit] / best[ours], (min(turns), max(turns)), mark,
    )  # fmt: skip


def nothing() -> None:
    pass


def seconds(value: float) -> str:
    """Three digits of it."""
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"
