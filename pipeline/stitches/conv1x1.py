from dataclasses import dataclass

from pipeline.arrays import Shape
from pipeline.stitches.base import Affine, Stitch, features, places


@dataclass(frozen=True)
class Conv1x1(Stitch):
    """One affine map with bias, shared by all places (Csiszárik et al. 2021; Balogh & Jelasity 2025)."""

    def build(self, source: Shape, target: Shape) -> Affine:
        if len(source) != len(target) or places(source) != places(target):
            raise ValueError(f"a 1x1 convolution keeps places as they are and cannot take {source} to {target}")
        return Affine(features(source), features(target))
