from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pipeline.objectives.base import Joint, Objective, Solvable


@final
@dataclass(frozen=True)
class Task(Objective):
    """Task-loss matching: cross-entropy of the receiver's answer, through its frozen tail."""

    start: Literal["random", "identity", "direct"]
    l1: float  # times the sum of the sizes of all the stitch's parameters, added to the loss
    offset: int  # added to the labels around the number of classes, at training and testing
    recipe: str | None  # a name in recipes; null for the one of the stitches

    def __post_init__(self) -> None:
        if not self.l1 >= 0:
            raise ValueError(f"l1: is {self.l1:g}; it should be 0 or more")

    @property
    def shift(self) -> int:
        return self.offset

    @property
    def paired(self) -> bool:
        return self.start == "direct"

    @property
    def solves(self) -> bool:
        return self.start == "direct"

    @property
    def labelled(self) -> bool:
        return True

    @property
    def starts_at_identity(self) -> bool:
        return self.start == "identity"

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        assert isinstance(stitch, Solvable)
        if self.start == "identity":
            stitch.begin_at_identity(joint.inputs)
        if self.start == "direct":
            moments = joint.moments(None)
            stitch.solve(moments, moments.affine())

        def loss(activations: Tensor, labels: Tensor) -> Tensor:
            value = cross_entropy(joint.tail(stitch(activations)), labels)
            if self.l1:
                value = value + self.l1 * torch.stack([p.abs().sum() for p in stitch.parameters()]).sum()
            return value

        joint.descend(stitch, loss, "labels")
