"""The manifest of a folder: size and checksum of every file, so that damage is refused and not read."""

import json
from collections.abc import Mapping
from pathlib import Path

import google_crc32c
import numpy as np

from pipeline import paths
from pipeline.atomic import digest, write_json, write_text
from pipeline.errors import StoreError

NAME = "manifest.json"
REMEDY = "remove it, then pull it again or run dvc repro"


def write(folder: Path, known: Mapping[Path, str]) -> None:
    """The folder's manifest, beside what it lists; `known` checksums are not computed again."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    body = {
        name: [path.stat().st_size, known.get(path) or checksum(path)] for name, path in files.items() if name != NAME
    }
    write_json(folder / NAME, {"files": body, "digest": digest(body)})


def checksum(path: Path) -> str:
    """crc32c of all but the last four bytes, and those bytes, in hexadecimal.

    A file that ends with its own crc32c, as a raw chunk does, would have the same crc32c whatever it holds.
    """
    data = np.fromfile(path, np.uint8) if path.stat().st_size < 4096 else np.memmap(path, np.uint8, "r")
    return joined(google_crc32c.extend(0, data[:-4]), data[-4:].tobytes())


def joined(crc: int, ending: bytes) -> str:
    return f"{crc:08x}{ending.hex()}"


def verify(folder: Path) -> None:
    """Raises unless every byte of the store is what was written.

    Checksums are read once: a note of each file's size, inode and time, kept outside the store, says
    that these very files have been checked on this machine.
    """
    files = _read(folder)
    stats = {name: _stat(folder, name, size) for name, (size, _) in files.items()}
    note = paths.scratch("verified", digest(str(folder.resolve()), files, stats))
    if note.exists():
        return
    for name, (_, crc) in files.items():
        if checksum(folder / name) != crc:
            raise StoreError(f"{folder}: {name} does not match its checksum; {REMEDY}")
    write_text(note, "")


def digest_of(folder: Path) -> str:
    """Of all that the manifest lists."""
    return digest(_read(folder))


def _read(folder: Path) -> dict[str, tuple[int, str]]:
    try:
        document = json.loads((folder / NAME).read_bytes())
        files = {name: (size, checksum) for name, (size, checksum) in document["files"].items()}
        if document["digest"] != digest(files):
            raise ValueError("digest")
    except FileNotFoundError as error:
        raise StoreError(f"{folder}: has no {NAME}; it is not a whole store: run dvc repro") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder}: {NAME} is damaged; {REMEDY}") from error
    return files


def _stat(folder: Path, name: str, size: int) -> list[int]:
    try:
        found = (folder / name).stat()
    except FileNotFoundError as error:
        raise StoreError(f"{folder}: {name} is missing; {REMEDY}") from error
    if found.st_size != size:
        raise StoreError(f"{folder}: {name} has {found.st_size} bytes; it should have {size}: {REMEDY}")
    return [found.st_size, found.st_mtime_ns, found.st_ino]
