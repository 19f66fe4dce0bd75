from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from pipeline.arrays import Activations
from pipeline.detectors.base import Detector, Fitted, Setting, energies, require
from pipeline.separation import Scores


@final
@dataclass(frozen=True)
class TailEnergy(Detector):
    """The energy of the receiver's own answer (Liu et al. 2020, without fine-tuning): nothing is fitted."""

    temperature: float

    def __post_init__(self) -> None:
        require(self.temperature > 0, f"temperature: is {self.temperature:g}; it should be above 0")

    def fit(self, setting: Setting) -> "FittedTailEnergy":
        return FittedTailEnergy(setting.tail, self.temperature, setting.device)


@dataclass(frozen=True)
class FittedTailEnergy(Fitted):
    tail: nn.Module
    temperature: float
    device: torch.device

    def scores(self, rows: Activations) -> Scores:
        return energies(self.tail, rows, self.temperature, self.device)
