from dataclasses import dataclass
from typing import final

from torch import nn

from pipeline.objectives.base import Joint, Objective, Solvable


@final
@dataclass(frozen=True)
class Direct(Objective):
    """Direct matching: the map with the least squared distance to the receiver's own activations.

    Every place of every sample is a row. The bias is found by centring both sides, so it is not penalised.
    Solved from the float64 covariances, streamed; directions of the source whose deviation is under `cutoff`
    of the largest are left out, which gives the least-norm solution on rank-deficient sources.
    """

    cutoff: float
    samples: int | None  # solved on so many, drawn at random; null for all
    source_rank: int | None  # of the source, only its first principal directions; null for all
    target_rank: int | None  # likewise of the target

    def __post_init__(self) -> None:
        if not 0 < self.cutoff < 1:
            raise ValueError(f"cutoff: is {self.cutoff:g}; it should be above 0 and below 1")
        for name, least in (("samples", 2), ("source_rank", 1), ("target_rank", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name}: is {value}; it should be {least} or more, or null for all")

    @property
    def closed(self) -> bool:
        return True

    @property
    def descends(self) -> bool:
        return False

    @property
    def truncates(self) -> bool:
        return self.source_rank is not None or self.target_rank is not None

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        assert isinstance(stitch, Solvable)
        moments = joint.moments(self.samples)
        free = moments.affine(self.cutoff, self.source_rank)
        if self.target_rank is not None:
            free = free.onto(joint.target(self.samples), self.target_rank, self.cutoff)
        stitch.solve(moments, free)
