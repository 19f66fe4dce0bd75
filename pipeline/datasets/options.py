"""Options that several datasets share, and their checks."""

import math
from dataclasses import dataclass
from pathlib import PurePosixPath

from pipeline.datasets.base import Labelled, Split
from pipeline.errors import DataError

Triple = tuple[float, float, float]  # one number each for red, green and blue


@dataclass(frozen=True)
class Limit:
    """How many images each split keeps, the first ones of its source; null keeps all."""

    train: int | None
    test: int | None

    def __post_init__(self) -> None:
        for split, count in (("train", self.train), ("test", self.test)):
            if count is not None and count < 1:
                raise ValueError(f"{split}: is {count}; it should be 1 or more, or null for all")


def limited(name: str, whole: Labelled, split: Split, limit: Limit | None) -> Labelled:
    """The first images of `whole`, as many as `limit` gives to `split`."""
    count = getattr(limit, split) if limit else None
    if count is None:
        return whole
    if count > len(whole.ids):
        raise DataError(f"{name}: limit.{split} is {count}; there are only {len(whole.ids)} images, so ask for fewer")
    return Labelled(whole.pixels[:count], whole.labels[:count], whole.ids[:count])


def check_scales(mean: tuple[float, ...], std: tuple[float, ...], channels: int) -> None:
    """Refuse those that are not as many as there are channels, or that `check_scale` refuses."""
    for name, values in (("mean", mean), ("std", std)):
        if len(values) != channels:
            raise ValueError(f"{name}: has {len(values)} entries; it should have {channels}, one for each channel")
    check_scale(mean, std)


def check_scale(mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    """Refuse means and deviations that no pixel can be normalised with."""
    if not all(map(math.isfinite, mean)):
        raise ValueError(f"mean: is {list(mean)}; it should hold finite numbers")
    if not all(math.isfinite(value) and value > 0 for value in std):
        raise ValueError(f"std: is {list(std)}; it should hold numbers above 0")


def check_inside(field: str, place: str) -> None:
    """Refuse a place that may lie outside the folder of raw files."""
    path = PurePosixPath(place)
    if not place or path.is_absolute() or ".." in path.parts or "\\" in place:
        raise ValueError(f"{field}: is {place!r}; it should be a path below the folder of raw files, without ..")
