"""Tasks run once each, here or in processes of their own."""

import time
from pathlib import Path

import pytest

from pipeline.engine import run


def write(task: Path) -> None:
    if task.name == "bad":
        raise ValueError("this task is bad")
    task.write_text(str(len(task.name)))


def write_slowly(task: Path) -> None:
    """So that a busy machine hears of the failure before all is done."""
    write(task)
    time.sleep(0.1)


@pytest.mark.parametrize("slots", [1, 2])
def test_every_task_that_is_not_done_runs_once(slots: int, tmp_path: Path) -> None:
    tasks = [tmp_path / name for name in ("one", "two", "three")]
    tasks[1].write_text("done before")

    run(tasks, write, Path.exists, slots, "tasks")

    assert [task.read_text() for task in tasks] == ["3", "done before", "5"]


@pytest.mark.parametrize("slots", [1, 2])
def test_a_task_that_fails_fails_the_run(slots: int, tmp_path: Path) -> None:
    tasks = [tmp_path / "bad", *(tmp_path / f"later{number}" for number in range(200))]

    with pytest.raises(ValueError, match="this task is bad"):
        run(tasks, write_slowly, Path.exists, slots, "tasks")

    assert not tasks[-1].exists()  # what has not begun is not begun
