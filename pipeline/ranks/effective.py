from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from scipy.special import entr

from pipeline.arrays import Spectrum
from pipeline.ranks.base import Rank


@final
@dataclass(frozen=True)
class Effective(Rank):
    """The effective rank: exp of the entropy of the spectrum's shares (Roy and Vetterli 2007).

    Of `variances`, the eigenvalues of the covariance, or of `deviations`, their roots, which are up to a factor the
    singular values of the centred activations. Deviations differ less, so theirs is never smaller.
    """

    of: Literal["variances", "deviations"]

    def __call__(self, spectrum: Spectrum) -> float:
        if not spectrum.any():
            return 0.0
        values = spectrum / spectrum.max()
        values = values if self.of == "variances" else np.sqrt(values)
        return float(np.exp(entr(values / values.sum()).sum()))
