from dataclasses import dataclass

from torch import nn
from torch.nn.functional import cross_entropy

from pipeline.objectives.base import Descend, Joint, Objective


@dataclass(frozen=True)
class Task(Objective):
    """Task-loss matching: cross-entropy of the receiver's answer, through its frozen tail."""

    def fit(self, stitch: nn.Module, joint: Joint, descend: Descend) -> nn.Module:
        stitch.train()
        descend(stitch, lambda activations, labels: cross_entropy(joint.tail(stitch(activations)), labels))
        return stitch.eval()
