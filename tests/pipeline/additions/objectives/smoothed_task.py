from dataclasses import dataclass
from typing import final

from torch import nn
from torch.nn.functional import cross_entropy

from pipeline.objectives.base import Joint, Objective


@final
@dataclass(frozen=True)
class SmoothedTask(Objective):
    """Task-loss matching with `smoothing` of each label spread over all classes (Szegedy et al. 2016)."""

    smoothing: float

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing: is {self.smoothing:g}; it should be from 0 to below 1")

    @property
    def paired(self) -> bool:
        return False

    @property
    def labelled(self) -> bool:
        return True

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        joint.descend(
            stitch,
            lambda activations, labels: cross_entropy(
                joint.tail(stitch(activations)), labels, label_smoothing=self.smoothing
            ),
            "labels",
        )
