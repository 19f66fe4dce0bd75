from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.moments import Map
from pipeline.stitches.base import Affine, Stitch


@final
@dataclass(frozen=True)
class IdentityStart(Stitch):
    """An affine map shared by all places that begins by handing every feature on, scaled by `scale`."""

    scale: float

    def core(self, inputs: int, outputs: int) -> Affine:
        core = Affine(inputs, outputs)
        core.become(Map(self.scale * np.eye(outputs, inputs), np.zeros(outputs)))
        return core
