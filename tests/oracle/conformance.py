"""How near numbers come to independent routes: the tests of this folder record it, and docs/conformance.md shows it.

A test of a route carries the mark `oracle` with the route's name, what it goes by, and how near both must be, and
compares by the fixture `agree`. `pytest tests/oracle --write-conformance` writes the table.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pipeline.detectors import DETECTORS
from pipeline.ranks import RANKS
from pipeline.similarity import INDICES

FAMILIES = {"similarity": INDICES, "ranks": RANKS, "detectors": DETECTORS}
PAGE = Path(__file__).resolve().parents[2] / "docs/conformance.md"
BEGIN, END = "<!-- what follows is written by the tests -->\n", "<!-- until here -->\n"
HEADER = "| what | independent route | held to | found below |\n| --- | --- | --- | --- |\n"


@dataclass(frozen=True)
class Route:
    """One row: a variant, what it is compared with, and how far apart both may be."""

    what: str
    by: str
    held: float
    relative: bool = False  # whether distances are parts of the wanted value

    @property
    def cells(self) -> tuple[str, str, str]:
        return f"`{self.what}`", self.by, f"{power(self.held)}{' of it' if self.relative else ''}"


@dataclass
class Ledger:
    """The largest distance found on each route."""

    found: dict[Route, float] = field(default_factory=dict)

    def add(self, route: Route, apart: float) -> None:
        self.found[route] = max(self.found.get(route, 0.0), apart)


@dataclass(frozen=True)
class Agreement:
    """Fails where a number is further from the wanted one than its route allows."""

    route: Route
    ledger: Ledger

    def __call__(self, found: ArrayLike, wanted: ArrayLike) -> None:
        found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
        assert found.shape == wanted.shape
        apart = np.abs(found - wanted)
        largest = float(np.max(apart / np.abs(wanted) if self.route.relative else apart))
        assert largest <= self.route.held, f"{found} is {largest:g} from {wanted}"
        self.ledger.add(self.route, largest)


def route_of(mark: pytest.Mark) -> Route:
    return Route(*mark.args, **mark.kwargs)


def declared() -> list[Route]:
    """Every route that a test of this folder is marked with, family by family."""
    modules = [import_module(f"tests.oracle.{path.stem}") for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    tests = [test for module in modules for test in vars(module).values()]
    marks = [mark for test in tests for mark in getattr(test, "pytestmark", []) if mark.name == "oracle"]
    return sorted(dict.fromkeys(map(route_of, marks)), key=_place)


def _place(route: Route) -> tuple[int, int]:
    """Families in their order and variants in their table's; measures of scores come last."""
    family, _, name = route.what.partition(".")
    if family not in FAMILIES:
        return len(FAMILIES), 0
    return list(FAMILIES).index(family), list(FAMILIES[family]).index(name)


def power(value: float) -> str:
    """The power of ten that is next above it: of rounding, no digit is worth more."""
    return "0" if value == 0 else f"1e{math.ceil(math.log10(value) - 1e-9)}"


def table(found: Mapping[Route, float], routes: Iterable[Route]) -> str:
    rows = "".join(f"| {' | '.join((*route.cells, power(found[route])))} |\n" for route in routes)
    return f"{BEGIN}\n{HEADER}{rows}\n{END}"


def rows_of(page: str) -> list[tuple[str, ...]]:
    """The cells of the table that a page shows."""
    lines = page[page.index(BEGIN) : page.index(END)].splitlines()
    return [tuple(cell.strip() for cell in line.split(" | ")) for line in (x.strip("| ") for x in lines) if "`" in line]


def write(page: Path, ledger: Ledger, routes: list[Route]) -> None:
    """Puts the table in its place; a route that was not measured is refused."""
    missing = [route for route in routes if route not in ledger.found]
    if missing:
        first = f"the first {missing[0].what} by {missing[0].by}"
        told = f"{len(missing)} of {len(routes)} routes were not measured, {first}"
        raise ValueError(f"{told}; run all of tests/oracle, with the dev requirements")
    text = page.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) + len(END) :]
    page.write_text(before + table(ledger.found, routes) + after, encoding="utf-8")
