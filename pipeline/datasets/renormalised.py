"""Any dataset under another normalisation, so that a network sees its pixels on the scale that it works in."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from pipeline.datasets.base import Labelled, Normalisation, SameClasses, Split
from pipeline.datasets.options import check_scales


@final
@dataclass(frozen=True)
class Renormalised(SameClasses):
    """The images of another dataset as they are, normalised by `mean` and `std`, a number for each channel.

    With 0 and 1 pixels stay between 0 and 1, as networks want that paint through a sigmoid.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        check_scales(self.mean, self.std, self.shape()[0])

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        return self.source.load(root, split, seed)

    def normalisation(self) -> Normalisation:
        return Normalisation(self.mean, self.std)

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()
