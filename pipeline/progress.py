"""Progress of long work: a bar with a rate and an estimate, and silence where nobody watches."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], total: int, what: str, unit: str, done: int = 0) -> Iterator[T]:
    """`items`, shown as they pass."""
    yield from tqdm(items, what, total, unit=f" {unit}", initial=done, disable=not sys.stderr.isatty(), leave=False)
