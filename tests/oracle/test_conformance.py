"""The table of docs/conformance.md is that of the tests, and can only be written whole."""

from pathlib import Path

import pytest

from tests.oracle.conformance import (
    BEGIN,
    END,
    FAMILIES,
    PAGE,
    Agreement,
    Ledger,
    Route,
    declared,
    power,
    rows_of,
    write,
)

ROUTE = Route("similarity.linear_cka", "a book", 1e-11)
EMPTY = f"before\n{BEGIN}{END}after\n"


def test_the_page_shows_the_routes_that_tests_are_marked_with() -> None:
    shown = [row[:3] for row in rows_of(PAGE.read_text(encoding="utf-8"))]

    assert shown == [route.cells for route in declared()], "pytest tests/oracle --write-conformance"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_variant_has_a_route(family: str) -> None:
    found = {route.what.partition(".")[2] for route in declared() if route.what.startswith(f"{family}.")}

    assert found == set(FAMILIES[family])


def test_the_largest_distance_is_kept() -> None:
    ledger = Ledger()
    agree = Agreement(ROUTE, ledger)

    agree(1.0, 1.0 + 3e-12)
    agree([1.0, 2.0], [1.0, 2.0])

    assert ledger.found[ROUTE] == pytest.approx(3e-12, rel=1e-3)


@pytest.mark.parametrize("found", [1.1, float("nan"), [1.0, 1.0]])
def test_what_does_not_agree_fails_and_is_not_kept(found: float | list[float]) -> None:
    ledger = Ledger()

    with pytest.raises(AssertionError):
        Agreement(ROUTE, ledger)(found, 1.0)
    assert not ledger.found


def test_distances_are_parts_of_the_value_where_a_route_says_so() -> None:
    ledger, route = Ledger(), Route("detectors.energy", "a book", 1e-3, relative=True)

    Agreement(route, ledger)([1000.5, -2.0], [1000.0, -2.0])

    assert ledger.found[route] == pytest.approx(5e-4)
    with pytest.raises(AssertionError):
        Agreement(route, ledger)(0.1, 0.0999)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    page, relative = tmp_path / "page.md", Route("detectors.energy", "`f(x)`: a, b", 1e-7, relative=True)
    page.write_text(EMPTY)

    for found in (2e-13, 3e-12):  # the second in place of the first
        write(page, Ledger({ROUTE: found, relative: 0.0}), [ROUTE, relative])

    assert rows_of(page.read_text()) == [
        ("`similarity.linear_cka`", "a book", "1e-11", "1e-11"),
        ("`detectors.energy`", "`f(x)`: a, b", "1e-7 of it", "0"),
    ]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")


def test_a_table_is_not_written_without_all_its_rows(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(EMPTY)

    with pytest.raises(ValueError, match=r"1 of 1 routes were not measured, the first similarity.linear_cka by a"):
        write(page, Ledger(), [ROUTE])
    assert page.read_text() == EMPTY


@pytest.mark.parametrize(
    ("value", "text"), [(1e-11, "1e-11"), (2e-14, "1e-13"), (1.0, "1e0"), (9.9e-8, "1e-7"), (0.0, "0")]
)
def test_distances_are_shown_by_the_power_of_ten_above_them(value: float, text: str) -> None:
    assert power(value) == text
