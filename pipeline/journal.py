"""What each run took and with what: kept beside the results, never part of them.

A result pulled from a remote was run elsewhere and has no entry here.
"""

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pandas import DataFrame

from pipeline import paths
from pipeline.atomic import write_json

_PACKAGES = ("backstitch", "torch", "numpy", "zarr", "dvc")
_COLUMNS = ["stage", "arguments", "seconds", "bytes", "versions", "machine"]


def record(stage: str, arguments: Sequence[object], seconds: float, outputs: Sequence[Path]) -> None:
    """Writes one entry in place of the last one of the same stage and arguments."""
    entry = {
        "stage": stage,
        "arguments": [str(argument) for argument in arguments],
        "seconds": round(seconds, 3),
        "bytes": sum(map(bytes_of, outputs)),
        "versions": versions(),
        "machine": _machine(),
    }
    write_json(paths.journal(stage, arguments), entry)


def read() -> DataFrame:
    """All entries, one row each; empty where nothing was run on this machine."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(paths.LOG.glob("[!.]*.json"))]
    return DataFrame(entries, columns=_COLUMNS)


def bytes_of(path: Path) -> int:
    """Of a file, or of all files under a folder; 0 where there is none."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.exists() else 0


def versions() -> dict[str, str]:
    """Of Python, of Backstitch, and of the packages that can move a number; none is imported."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout, or on a machine that only reports
            continue
    return found


def _machine() -> str:
    """System and processor, without the host's name."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
