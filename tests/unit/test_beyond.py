"""The page on what the papers did not show, held to the studies that it is drawn from."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from pandas import DataFrame

DOCS = Path(__file__).resolve().parents[2] / "docs"
SPEC = spec_from_file_location("beyond", DOCS / "beyond.py")
assert SPEC is not None
assert SPEC.loader is not None
beyond = module_from_spec(SPEC)
SPEC.loader.exec_module(beyond)


@pytest.mark.parametrize("table", beyond.TABLES, ids=lambda table: table.__name__)
def test_the_page_has_the_tables_that_the_studies_give(table: Callable[[], DataFrame]) -> None:
    assert beyond.markdown(table()) in (DOCS / "beyond.md").read_text()


@pytest.mark.parametrize("figure", beyond.FIGURES, ids=lambda figure: figure.__name__)
def test_the_page_has_the_figures_that_the_studies_give(figure: Callable[[], Figure]) -> None:
    name = f"beyond-{figure.__name__}.svg"

    assert f"]({name})" in (DOCS / "beyond.md").read_text()
    assert (DOCS / name).read_bytes() == beyond.svg(figure)


def test_lines_go_from_cut_to_cut() -> None:
    drawn = [list(line.get_xdata()) for axes in beyond.gains().axes for line in axes.lines]

    assert drawn
    assert all(places == list(range(len(beyond.CUTS))) for places in drawn)
