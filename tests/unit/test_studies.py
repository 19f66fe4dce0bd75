"""What the repository keeps of its studies hangs together: settings, locks, tables and READMEs."""

from pathlib import Path

import pandas
import pytest
from ruamel.yaml import YAML

from pipeline.claims import claims_table

STUDIES = Path(__file__).resolve().parents[2] / "studies"
RUN = sorted(lock.parent.name for lock in STUDIES.glob("*/dvc.lock"))
SHOWN = [0, 1, 2, 5, 6, 7, 8]  # of the page's columns: what was measured, and of how many rows, is in them
RESTATED = "Claims in `params.yaml` were added to, or reworded, after this run"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


@pytest.mark.parametrize("study", RUN)
def test_a_readme_has_the_claims_as_the_page_has_them(study: str) -> None:
    rows = pandas.read_csv(STUDIES / study / "reports/tables/claims.csv")
    table = claims_table(rows.astype({"measured": float, "low": float, "high": float}))
    lines = (STUDIES / study / "README.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| what is said |"))

    assert cells(lines[start]) == [table.columns[i] for i in SHOWN]
    rows = [[row[i] for i in SHOWN] for row in table.rows]
    assert [cells(line) for line in lines[start + 2 : start + 2 + len(rows)]] == rows
    assert not lines[start + 2 + len(rows)]


@pytest.mark.parametrize("study", RUN)
def test_claims_are_those_of_the_run_or_the_readme_says_that_they_are_not(study: str) -> None:
    yaml = YAML(typ="safe")
    now = yaml.load(STUDIES / study / "params.yaml")["claims"]
    then = yaml.load(STUDIES / study / "dvc.lock")["stages"]["report"]["params"]["params.yaml"]["claims"]

    assert (now != then) == (RESTATED in " ".join((STUDIES / study / "README.md").read_text().split()))
