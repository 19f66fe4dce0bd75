from typing import final

from pipeline.stitches.base import Affine, Stitch


@final
class Conv1x1(Stitch):
    """One affine map with bias, shared by all places (Csiszárik et al. 2021; Balogh & Jelasity 2025)."""

    def core(self, inputs: int, outputs: int) -> Affine:
        return Affine(inputs, outputs)
