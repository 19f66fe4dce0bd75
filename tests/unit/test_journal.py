import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pipeline import journal, paths
from pipeline.journal import bytes_of, read, record


@pytest.fixture(autouse=True)
def in_a_study_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_was_recorded_is_read():
    Path("out").mkdir()
    Path("out/a").write_bytes(b"12345")
    Path("b").write_bytes(b"123")
    record("train", ["digit", 0], 1.23456, [Path("out"), Path("b")])
    (row,) = read().to_dict("records")

    assert row["stage"] == "train"
    assert row["arguments"] == ["digit", "0"]
    assert row["seconds"] == 1.235
    assert row["bytes"] == 8


def test_an_entry_lies_where_its_stage_and_arguments_say():
    record("extract", ["digit", 1, "correlated"], 1.0, [])
    record("report", [], 1.0, [])

    assert sorted(path.name for path in paths.LOG.iterdir()) == ["extract@digit-1-correlated.json", "report.json"]


def test_a_second_run_replaces_the_first_and_leaves_nothing_else():
    record("train", ["digit", 0], 1.0, [])
    record("train", ["digit", 0], 2.0, [])

    assert list(read()["seconds"]) == [2]
    assert len(list(paths.LOG.iterdir())) == 1


def test_versions_are_those_installed():
    record("train", ["digit", 0], 1.0, [])
    versions = read()["versions"].iloc[0]

    assert versions["numpy"] == version("numpy")
    assert versions["python"] == platform.python_version()
    assert versions["backstitch"] == version("backstitch")


def test_a_package_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "_PACKAGES", ("numpy", "surely-not-a-package"))

    assert set(journal.versions()) == {"python", "numpy"}


def test_nothing_recorded_reads_as_an_empty_table():
    table = read()

    assert table.empty
    assert "seconds" in table


def test_an_entry_has_no_name_of_the_host():
    record("train", ["digit", 0], 1.0, [])
    machine = read()["machine"].iloc[0]

    assert platform.node() not in machine
    assert platform.machine() in machine


def test_an_unfinished_entry_is_not_read():
    record("train", ["digit", 0], 1.0, [])
    (paths.LOG / ".train@digit-1.json.123.tmp").write_text("{")
    (paths.LOG / ".train@digit-2.json").write_text("{")

    assert len(read()) == 1


def test_an_output_that_is_missing_has_no_bytes():
    assert bytes_of(Path("nothing")) == 0


def test_recording_does_not_import_torch():
    code = (
        "import sys; from pipeline.journal import record; record('check', [], 1.0, []); print('torch' in sys.modules)"
    )
    root = Path(journal.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(root)}, check=True
    )

    assert done.stdout.strip() == "False"
    assert "torch" in json.loads(next(paths.LOG.iterdir()).read_text())["versions"]
