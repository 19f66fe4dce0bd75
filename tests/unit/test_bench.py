"""Every part of the bench runs, at tiny sizes; how fast anything is, is no matter of tests."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import grid
from bench.__main__ import measure
from bench.plot import NAME, draw
from bench.ratios import Contender, Row, nothing, ratio_row, side_by_side
from bench.repeating import Skipped
from bench.repeating import rows as repeating_rows
from bench.sizes import QUICK
from bench.table import markdown
from bench.workspace import machine, workspace
from pipeline.errors import ResourceError
from pipeline.loading import problems


def row(ratio: float, mark: float | None) -> Row:
    return Row("reading", "a name", "1 ms", "other 1 ms", 0, ratio, (ratio, ratio), mark)


@pytest.mark.parametrize(
    ("part", "count"), [("extraction", 8), ("reading", 5), ("stitching", 2), ("stepping", 7), ("measures", 45)]
)
def test_every_ratio_of_a_part_is_finite_and_positive(part: str, count: int) -> None:
    rows, skipped = measure((part,), QUICK)

    assert len(rows) == count and not skipped
    assert all(math.isfinite(row.ratio) and row.ratio > 0 for row in rows)


def test_the_grid_which_takes_too_long_here_is_of_a_study_that_is_sound() -> None:
    """But that it lies in a folder of its own."""
    assert list(problems(grid.study(QUICK, 24))) == []


def test_ours_is_held_against_the_slower_limit() -> None:
    times = {"ours": [2.0, 4.0], "fast": [1.0, 9.0], "slow": [3.0, 3.0]}

    found = ratio_row("reading", "a name", times, "ours", ["fast", "slow"], 0, 1.0)

    assert (found.ratio, found.spread, found.verdict) == (1.5, (0.75, 1.5), "met")


def test_contenders_take_turns_and_the_first_turn_does_not_count() -> None:
    order: list[str] = []
    contenders = {name: Contender(lambda name=name: order.append(name), nothing) for name in "ab"}

    times = side_by_side(contenders, 2)

    assert "".join(order) == "baabba"
    assert {name: len(found) for name, found in times.items()} == {"a": 2, "b": 2}


@pytest.mark.parametrize(("ratio", "mark", "verdict"), [(0.9, 0.9, "met"), (0.89, 0.9, "missed"), (0.1, None, "–")])
def test_a_mark_is_met_or_missed_or_not_there(ratio: float, mark: float | None, verdict: str) -> None:
    assert row(ratio, mark).verdict == verdict


def test_the_page_has_a_section_for_each_part_there_is() -> None:
    page = markdown([row(0.5, 0.9)], "a machine")

    assert "| a name | 0.50 | 0.50 to 0.50 | 0.9 | missed | 1 ms | other 1 ms | – |" in page
    assert "## Reading raw stores" in page and "## Extraction" not in page
    assert page.endswith("\n\nMeasured on: a machine.\n")


def test_a_part_that_is_measured_alone_leaves_the_other_sections_as_they_were() -> None:
    page = markdown([row(0.5, 0.9), replace(row(2.0, 1.0), part="grid")], "a machine")
    again = markdown([row(0.7, 0.9)], "another", page)

    assert again == page.replace("| 0.50 | 0.50 to 0.50 | 0.9 |", "| 0.70 | 0.70 to 0.70 | 0.9 |").replace(
        "Measured on: a machine", "Measured on: another", 1
    )
    assert markdown([], "another", again) == again


def test_what_grows_is_drawn_beside_the_page(tmp_path: Path) -> None:
    points = [("cka by layers", 5.0, 0.1), ("cka by layers", 10.0, 0.4), ("cka by samples", 100.0, 0.1)]
    grown = [replace(row(1.0, None), part="growth", point=point) for point in points]

    draw(grown, tmp_path / NAME)
    draw([row(1.0, None)], tmp_path / "nothing.svg")

    assert {"layers", "samples", "seconds", "cka"} <= set(
        re.findall(r"<text[^>]*>(\w+)</text>", (tmp_path / NAME).read_text())
    )
    assert f"]({NAME})" in markdown(grown, "a machine")
    assert not (tmp_path / "nothing.svg").exists()


def test_the_machine_is_described_without_its_name() -> None:
    assert "torch" in machine() and "cores" in machine()
    name = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()
    assert name not in machine().split()


def test_the_workspace_is_gone_afterwards() -> None:
    with workspace(1) as folder:
        Path("file").write_text("")

    assert not folder.exists()


def test_a_disk_too_small_is_refused() -> None:
    with (
        pytest.raises(ResourceError, match=r"bench: needs 1e\+09 GB of disk; .* are free: set TMPDIR"),
        workspace(10**18),
    ):
        pass


def test_a_repro_with_nothing_to_do_is_timed_and_one_with_something_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {one: {cmd: echo 1 > out, outs: [out]}}\n")
    for command in (["init", "--no-scm", "--quiet"], ["repro", "--quiet"]):
        subprocess.run([sys.executable, "-m", "dvc", *command], cwd=tmp_path, check=True, capture_output=True)
    (found,) = repeating_rows(tmp_path, 1)
    (tmp_path / "out").write_text("something else")

    assert found.ratio > 0 and "0 stages ran" in found.name
    with pytest.raises(Skipped, match="dvc status has something"):
        next(repeating_rows(tmp_path, 1))
