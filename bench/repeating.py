"""`dvc repro` of a study with nothing to do."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.ratios import Row, seconds, timed

TOP = Path(__file__).parents[1]
LIMIT = 5.0  # seconds
RAN = "Running stage"


class Skipped(Exception):
    """What a row needs is not there; the message says what."""


def rows(folder: Path, repetitions: int) -> Iterator[Row]:
    """The best of several, of the study in `folder`."""
    if dvc(folder, "status", "--quiet", "dvc.yaml").returncode:
        raise Skipped("dvc repro with nothing to do: skipped, for dvc status has something; run dvc repro first")
    outputs: list[str] = []
    times = [timed(lambda: outputs.append(dvc(folder, "repro").stdout)) for _ in range(repetitions)]
    ran, best = sum(output.count(RAN) for output in outputs), min(times)
    name = f"dvc repro with nothing to do ({ran} stages ran)"
    spread = (LIMIT / max(times), LIMIT / best)
    ratio = 0.0 if ran else LIMIT / best  # whatever its time, a repro that runs a stage had something to do
    yield Row("repeating", name, seconds(best), f"at most {LIMIT:g} s", 0, ratio, spread, 1.0)


def dvc(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """DVC of this environment, run to its end."""
    return subprocess.run([sys.executable, "-m", "dvc", *arguments], cwd=folder, capture_output=True, text=True)
