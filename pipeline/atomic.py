"""Files and folders that appear whole or not at all, however the process ends."""

import hashlib
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """A temporary neighbour to write to; it takes the name `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)  # DVC may have linked the old file read-only; the rename leaves it alone
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def appear(folder: Path, destination: Path) -> None:
    """`folder` under the name `destination` by one rename; what stood there before goes."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    old = folder.with_name(f"{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if destination.exists():
        destination.rename(old)
    folder.rename(destination)
    shutil.rmtree(old, ignore_errors=True)


def digest(*parts: bytes | str | Any) -> str:
    """SHA-256 of the parts, unmistakably joined: bytes, texts, or anything JSON can say."""
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        total.update(len(data).to_bytes(8, "big"))
        total.update(data)
    return total.hexdigest()


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
