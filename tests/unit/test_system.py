"""Files that are mapped one after another are their bytes, with zeros between them."""

import mmap
from pathlib import Path

import numpy as np
import pytest

from pipeline.system import mapped

PAGE = mmap.PAGESIZE


def files_of(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_each_file_begins_where_it_should(tmp_path: Path) -> None:
    first, second = b"a" * 5000, b"b" * 10

    whole = mapped(files_of(tmp_path, first, second), 4 * PAGE)

    assert whole.tobytes() == first.ljust(4 * PAGE, b"\0") + second.ljust(4 * PAGE, b"\0")


def test_what_is_mapped_outlives_the_files_and_cannot_be_written(tmp_path: Path) -> None:
    files = files_of(tmp_path, b"kept")
    whole = mapped(files, PAGE)
    part = whole[:4].view(np.uint32)
    del whole
    files[0].unlink()

    assert part.tobytes() == b"kept"
    with pytest.raises(ValueError, match="read-only"):
        part[0] = 0


def test_a_file_larger_than_its_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"0 has {PAGE + 1} bytes, which is more than {PAGE}"):
        mapped(files_of(tmp_path, b"a" * (PAGE + 1)), PAGE)


def test_a_map_that_the_system_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        mapped(files_of(tmp_path, b"a", b"b"), PAGE + 1)  # not a page's beginning
