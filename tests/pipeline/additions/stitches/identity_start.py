from dataclasses import dataclass
from typing import final

from torch import nn

from pipeline.arrays import Shape
from pipeline.stitches.base import Affine, Stitch, features, places


@final
@dataclass(frozen=True)
class IdentityStart(Stitch):
    """An affine map shared by all places that begins by handing every feature on as it is."""

    def build(self, source: Shape, target: Shape) -> Affine:
        if len(source) != len(target) or places(source) != places(target):
            raise ValueError(f"an identity keeps places as they are and cannot take {source} to {target}")
        stitch = Affine(features(source), features(target))
        nn.init.eye_(stitch.weight)
        nn.init.zeros_(stitch.bias)
        return stitch
