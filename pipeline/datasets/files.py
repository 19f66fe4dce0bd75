"""Raw files: whether they are there, fetching them, and whether they are what was published."""

import http.client
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pipeline.errors import DataError

FETCH = "put it there, or load this dataset once where there is a network"
FOUND = "put it there, or name the folder that has it in BACKSTITCH_DATA_ROOT or data.root"
SILENCE = 30.0  # seconds; a network that swallows packets must not hold a night's run


def missing(root: Path, names: Iterable[str], remedy: str = FETCH) -> Iterator[str]:
    """A sentence for each of `names` that is not a file below `root`."""
    return (f"{root / name}: no such file; {remedy}" for name in names if not (root / name).is_file())


def fetch(root: Path, names: Iterable[str], download: Callable[[], object]) -> None:
    """Run `download` if any of `names` is not below `root`."""
    absent = [root / name for name in names if not (root / name).is_file()]
    if not absent:
        return
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE)
    try:
        download()
    except (OSError, RuntimeError, http.client.HTTPException) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{absent[0]}: no such file, and the download failed ({reason}); {FOUND}") from error
    finally:
        socket.setdefaulttimeout(before)


def damaged(path: Path) -> DataError:
    """The error for a file whose checksum is not the published one."""
    return DataError(f"{path}: is not the published file, by its md5; delete it and put the published one there")
