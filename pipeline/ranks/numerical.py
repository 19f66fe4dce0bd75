from dataclasses import dataclass

import numpy as np

from pipeline.arrays import Spectrum
from pipeline.ranks.base import Rank


@dataclass(frozen=True)
class Numerical(Rank):
    """How many eigenvalues of the covariance exceed `threshold` of the largest (Smith et al. 2025, B.2.1)."""

    threshold: float

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: is {self.threshold:g}; it should be above 0 and below 1")

    def __call__(self, spectrum: Spectrum) -> float:
        return float(np.count_nonzero(spectrum > self.threshold * spectrum.max(initial=0.0)))
