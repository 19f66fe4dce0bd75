"""Killed at any moment, a stage run again ends in the bytes of one that was left in peace."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.pipeline.checkout import Checkout, environment, fresh

# Enough work that there are moments to be killed in.
LONGER = [
    ("    samples: 64\n", "    samples: 1500\n"),
    ("    epochs: 3\n    batch: 16\n", "    epochs: 12\n    batch: 64\n"),
    ("  dtype: float32\n  batch: 16\n", "  dtype: float32\n  batch: 4\n"),
    ("  epochs: 2\n  batch: 16\n", "  epochs: 4\n  batch: 64\n"),
]
STAGES = {
    "train": ("train@two-0", "cache/networks/two/0", "train"),
    "extract": ("extract@one-0-patches", "cache/activations/one/0/patches", "extract"),
    "stitch": ("stitch@one-two-0", "cache/stitches/one/two/0", "stitch"),
    "control": ("control@two-0", "cache/controls/two/0", "stitch"),
}
KILLS = 7


@pytest.fixture(scope="module")
def peaceful(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = fresh(tmp_path_factory.mktemp("peaceful") / "project")
    for old, new in LONGER:
        checkout.params(old, new)
    checkout.repro()
    return checkout


def killed(checkout: Checkout, stage: str, scratch: Path, patience: float) -> bool:
    """Whether the stage was still running `patience` seconds after its first trace of work, and is now dead."""
    before = trace(scratch)
    command = ["dvc", "repro", "--single-item", "--force", "--no-run-cache", stage]
    process = subprocess.Popen(
        command, cwd=checkout.study, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and trace(scratch) == before:
        time.sleep(0.005)
    time.sleep(patience)
    alive = process.poll() is None
    os.killpg(process.pid, signal.SIGKILL) if alive else None
    process.wait()  # a zombie would keep DVC's lock
    return alive


def trace(scratch: Path) -> set[tuple[str, int]]:
    """Names and sizes of the files there are."""
    found = set()
    for path in scratch.rglob("*"):
        try:
            found.add((str(path), path.stat().st_size))
        except FileNotFoundError:  # renamed while we looked
            continue
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_killed_at_many_moments_ends_in_the_same_bytes(name: str, peaceful: Checkout) -> None:
    stage, output, traces = STAGES[name]
    wanted = contents(peaceful.study / output)
    lock = (peaceful.study / "dvc.lock").read_text()
    scratch = peaceful.study / "cache/.scratch" / traces
    peaceful.run("rm", "-rf", str(scratch))

    deaths, kept = list[bool](), list[dict[Path, int]]()
    for moment in range(KILLS):
        deaths.append(killed(peaceful, stage, scratch, moment * 0.08))
        kept.append(peaceful.cells_made())
    peaceful.repro()

    assert sum(deaths) >= 3, deaths
    assert any(kept) or traces != "stitch"
    assert all(before.items() <= peaceful.cells_made().items() for before in kept)  # no finished cell is made again
    assert contents(peaceful.study / output) == wanted
    assert (peaceful.study / "dvc.lock").read_text() == lock
