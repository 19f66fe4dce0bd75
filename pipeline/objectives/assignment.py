from dataclasses import dataclass
from typing import final

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from pipeline.objectives.base import Joint, Objective


@final
@dataclass(frozen=True)
class Assignment(Objective):
    """Embedding mapping (Smith et al. 2025, algorithm 3): each batch onto as many of the receiver's own activations.

    Which goes to which is the linear sum assignment of least total squared distance; the loss is that total. No
    label and no pair is told: the stitch learns to fill the receiver's space, whatever comes to lie where.
    """

    recipe: str | None  # a name in recipes; null for the one of the stitches

    @property
    def paired(self) -> bool:
        return False

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        joint.descend(stitch, lambda given, labels: assigned(stitch(given), joint.others(len(labels))), "labels")


def assigned(given: Tensor, others: Tensor) -> Tensor:
    """The least sum of squared distances between partners, one to one."""
    costs = torch.cdist(given.flatten(1), others.flatten(1)).square()
    rows, columns = linear_sum_assignment(costs.detach().cpu().numpy())
    return costs[torch.from_numpy(rows), torch.from_numpy(columns)].sum()
