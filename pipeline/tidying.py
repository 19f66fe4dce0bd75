"""Deleting results of variants that params no longer name.

The stages with a parent folder among their deps need this: DVC hashes such a folder after the
command ran, so results of removed variants would make the lock file differ between a machine that
once had them and one that never did. What is deleted here stays in DVC's cache.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

_KEPT = {".gitignore"}  # DVC's own


def tidy(folder: Path, expected: Iterable[Path]) -> list[Path]:
    """Deletes all under `folder` but the files and folders in `expected`; what was deleted."""
    kept = set(expected)
    above = {parent for path in kept for parent in path.parents}
    # A caller that enumerates another folder would have all of this one deleted.
    assert not kept or folder in above, f"{folder} holds none of the expected paths"
    return list(_tidy(folder, kept, above)) if folder.is_dir() else []


def _tidy(folder: Path, kept: set[Path], above: set[Path]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path in kept or path.name in _KEPT:
            continue
        if path in above and path.is_dir():
            yield from _tidy(path, kept, above)
            continue
        if path.is_dir() and not path.is_symlink():  # a link's target is DVC's
            shutil.rmtree(path)
        else:
            path.unlink()
        yield path
