from dataclasses import dataclass
from typing import final

from pipeline.arrays import Spectrum
from pipeline.ranks.base import Rank


@final
@dataclass(frozen=True)
class Participation(Rank):
    """The participation ratio: the squared sum of the covariance's eigenvalues over the sum of their squares."""

    def __call__(self, spectrum: Spectrum) -> float:
        if not spectrum.any():
            return 0.0
        values = spectrum / spectrum.max()
        return float(values.sum() ** 2 / (values @ values))
