from dataclasses import dataclass
from typing import final

from torch import nn
from torch.nn.functional import mse_loss

from pipeline.objectives.base import Joint, Objective


@final
@dataclass(frozen=True)
class ClassMap(Objective):
    """Class mapping (Smith et al. 2025, section 6): what is painted should be an image of the class's partner.

    Partners are classes of one label in the sender's data and the receiver's (`stitch.labels` renames); within a
    class, images are paired at random, anew at every step. So the best that can be painted is the mean of a class.
    """

    recipe: str | None  # a name in recipes; null for the one of the stitches

    @property
    def paired(self) -> bool:
        return False

    @property
    def labelled(self) -> bool:
        return True

    @property
    def paints(self) -> bool:
        return True

    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        painter = joint.painter
        assert painter is not None
        joint.descend(stitch, lambda given, labels: mse_loss(painter(stitch(given)), joint.images(labels)), "labels")
