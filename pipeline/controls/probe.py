from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations, Rows
from pipeline.controls.base import Baseline, Material
from pipeline.probing import probe_accuracy
from pipeline.views import rows_of

_BLOCK = 1024  # rows read at once
_COPIES = 3  # of the training split in float64, while the probe learns


@final
@dataclass(frozen=True)
class Probe(Baseline):
    """What the means over places say of the labels without any receiver: quick at every cut.

    Multinomial logistic regression on standardised features, by L-BFGS to its only minimum. Where it does as well
    as a stitch, the stitch may owe nothing to the receiver.
    """

    decay: float  # half this times the sum of squared weights is added to the mean cross-entropy

    def __post_init__(self) -> None:
        if not self.decay > 0:
            raise ValueError(f"decay: is {self.decay:g}; it should be above 0, for one minimum")

    def needs(self, rows: Activations) -> int:
        return _COPIES * 8 * rows.shape[0] * rows_of(rows.read(0, 1), "pooled").shape[1]

    def accuracy(self, material: Material) -> float:
        train, test = ((_pooled(material.rows(split)), material.labels(split)) for split in ("train", "test"))
        return probe_accuracy(train, test, self.decay)


def _pooled(rows: Activations) -> Rows:
    starts = range(0, rows.shape[0], _BLOCK)
    return np.concatenate([rows_of(rows.read(start, min(start + _BLOCK, rows.shape[0])), "pooled") for start in starts])
