"""What linear probes have in common."""

from dataclasses import dataclass

from pipeline.arrays import Labels, Rows
from pipeline.controls.base import Baseline
from pipeline.probing import Others, probe_accuracy


@dataclass(frozen=True)
class Linear(Baseline):
    """What features of the sender say of the labels without any receiver.

    Multinomial logistic regression on standardised features, by L-BFGS to its only minimum. Where it does as well
    as a stitch, the stitch may owe nothing to the receiver.
    """

    decay: float  # half this times the sum of squared weights is added to the mean cross-entropy

    def __post_init__(self) -> None:
        if not self.decay > 0:
            raise ValueError(f"decay: is {self.decay:g}; it should be above 0, for one minimum")

    def accuracy(self, train: tuple[Rows, Labels], test: Others) -> float:
        return probe_accuracy(train, test, self.decay)
