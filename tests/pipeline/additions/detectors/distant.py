from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations
from pipeline.detectors.base import Detector, Fitted, Setting
from pipeline.separation import Scores


@final
@dataclass(frozen=True)
class Distant(Detector):
    """The distance to the mean of all training samples, to the power of `power`."""

    power: float

    def fit(self, setting: Setting) -> "FittedDistant":
        rows = setting.rows.read(0, setting.rows.shape[0])
        return FittedDistant(rows.mean(0, dtype=np.float64), self.power)


@dataclass(frozen=True)
class FittedDistant(Fitted):
    mean: np.ndarray
    power: float

    def scores(self, rows: Activations) -> Scores:
        apart = rows.read(0, rows.shape[0]) - self.mean
        return np.linalg.norm(apart.reshape(len(apart), -1), axis=1) ** self.power
