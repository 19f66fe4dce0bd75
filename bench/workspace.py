"""A folder to work in, and the machine it is on."""

import contextlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import torch

from pipeline.errors import ResourceError
from pipeline.stages.extract import gb


@contextlib.contextmanager
def workspace(needed: int) -> Iterator[Path]:
    """An empty current folder with `needed` bytes free, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name).resolve()
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise ResourceError(f"bench: needs {gb(needed)} of disk; {gb(free)} are free: set TMPDIR to a larger disk")
        with contextlib.chdir(folder):
            yield folder


def machine() -> str:
    """What decides the times, on one line."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    model = found.group(1) if found else platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{date.today().isoformat()}, {model}, {cores} cores, {torch.get_num_threads()} torch threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )
