"""What becomes a stage's output at once lies here before."""

import shutil
from pathlib import Path

from pipeline import paths
from pipeline.atomic import digest


def gathering(*names: object) -> Path:
    """An empty folder."""
    folder = paths.scratch("gathered", digest(*names))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
