from dataclasses import dataclass
from typing import Literal, final

from torch import nn
from torch.nn.functional import mse_loss

from pipeline.objectives.base import Joint, Objective, Solvable


@final
@dataclass(frozen=True)
class Match(Objective):
    """Matching by descent: the mean squared distance to the receiver's own activations (Hernandez et al. 2022).

    The mean runs over features too, so each feature's error weighs one in as many as there are, while
    weight decay does not: on wide layers it dominates. `exact` is ridge regression with the recipe's weight decay on
    the weights, in closed form: where the descent of a `conv1x1` ends if the recipe spares vectors from decay. Other
    stitches write their map down in other parameters, on which decay means something else.
    """

    by: Literal["descent", "exact"]
    recipe: str | None  # a name in recipes; null for the one of the stitches

    @property
    def closed(self) -> bool:
        return self.by == "exact"

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        assert isinstance(stitch, Solvable)
        if self.by == "descent":
            joint.descend(stitch, lambda activations, wanted: mse_loss(stitch(activations), wanted), "activations")
            return
        moments = joint.moments(None)
        # SGD adds decay · w to the gradient, which is that of decay / 2 · |w|²; the loss is a mean over count × E.
        ridge = joint.weight_decay / 2 * moments.source.count * len(moments.mean)
        stitch.solve(moments, moments.affine(ridge=ridge))
