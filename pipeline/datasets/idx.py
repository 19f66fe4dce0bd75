"""MNIST and the sets made in its image: gzipped IDX files, read where they lie.

torchvision reads only unpacked copies, which it writes beside the archives. The folder of raw files
may be read-only, so the archives are read here, by the checksums that torchvision publishes.
"""

import gzip
import hashlib
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
from torchvision.datasets import MNIST
from torchvision.datasets.utils import download_url

from pipeline.datasets import files
from pipeline.datasets.base import Labelled, Split
from pipeline.datasets.options import Limit, limited
from pipeline.errors import DataError

Files = Literal["official", "own"]  # the published files by their checksums, or any of their format

SHAPE = (1, 28, 28)
CLASSES = 10
STEMS = {"train": "train", "test": "t10k"}


@dataclass(frozen=True)
class Published:
    """A set as torchvision knows it: its folder, checksums and mirrors."""

    name: str
    torchvision: type[MNIST]

    @property
    def md5s(self) -> dict[str, str]:
        """The checksum of each file, by its way from the folder of raw files."""
        return {f"{self.torchvision.__name__}/raw/{name}": md5 for name, md5 in self.torchvision.resources}


def load(published: Published, root: Path, split: Split, source: Files, limit: Limit | None) -> Labelled:
    """The split, from the published files or from the user's own in their place."""
    images, labels = (_read(published, root, name, source) for name in _names(published, split))
    if images.shape[1:] != SHAPE[1:] or labels.shape != images.shape[:1] or labels.max(initial=0) >= CLASSES:
        raise DataError(
            f"{published.name}: {split} has images {images.shape} and labels {labels.shape} up to "
            f"{labels.max(initial=0)}; they should be (N, 28, 28) and (N,) up to {CLASSES - 1}"
        )
    # Own files never share a sample id with the published ones: two stores agree on a sample by its id.
    prefix = published.name if source == "official" else f"own_{published.name}"
    ids = tuple(f"{prefix}/{split}/{i:05d}" for i in range(len(labels)))
    return limited(published.name, Labelled(images[:, None], labels.astype(np.int64), ids), split, limit)


def missing(published: Published, root: Path, source: Files) -> list[str]:
    """A sentence for each file that is not there."""
    remedy = files.FETCH if source == "official" else "put your own file there"
    return list(files.missing(root, published.md5s, remedy))


def parse(path: Path, packed: bytes) -> np.ndarray:
    """The array of bytes in a gzipped IDX file: magic number, lengths of the axes, contents."""
    try:
        data = gzip.decompress(packed)
        _, kind, rank = struct.unpack_from(">HBB", data)
        shape = struct.unpack_from(f">{rank}I", data, 4)
        # A copy, because torch warns of arrays that cannot be written to.
        values = np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy()
    except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
        raise DataError(f"{path}: is not a whole gzipped IDX file ({error}); put a whole one there") from error
    if kind != 8:
        raise DataError(f"{path}: holds IDX type {kind}; it should hold bytes, which is type 8")
    return values


def _names(published: Published, split: Split) -> list[str]:
    return [name for name in published.md5s if f"/raw/{STEMS[split]}-" in name]  # images, then labels


def _read(published: Published, root: Path, name: str, source: Files) -> np.ndarray:
    path, md5 = root / name, published.md5s[name]
    if source == "official":
        files.fetch(root, [name], lambda: _download(published, path, md5))
    elif problems := list(files.missing(root, [name], "put your own file there")):
        raise DataError(problems[0])
    packed = path.read_bytes()
    if source == "official" and hashlib.md5(packed, usedforsecurity=False).hexdigest() != md5:
        raise files.damaged(path)
    return parse(path, packed)


def _download(published: Published, path: Path, md5: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    *mirrors, last = published.torchvision.mirrors
    # In a folder of its own first: a file cut short by a kill must not lie under the name of a whole one.
    with TemporaryDirectory(dir=path.parent) as scratch:
        for mirror in mirrors:
            with suppress(OSError, RuntimeError):
                download_url(mirror + path.name, scratch, path.name, md5)
                break
        else:
            download_url(last + path.name, scratch, path.name, md5)
        (Path(scratch) / path.name).replace(path)
