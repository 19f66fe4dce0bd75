import math
from dataclasses import dataclass
from typing import final

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pipeline.controls.base import Baseline, Material
from pipeline.randomness import seeded


@final
@dataclass(frozen=True)
class WholeProbe(Baseline):
    """What all numbers of the activations, as they are, say of the labels without any receiver.

    A linear layer, begun at random and trained on cross-entropy by a recipe, as in Smith et al. 2025, Appendix G.4.
    So many numbers have no minimum within reach, and what a longer descent would find may be more.
    """

    recipe: str  # a name in recipes

    @property
    def recipes(self) -> tuple[str, ...]:
        return (self.recipe,)

    def accuracy(self, material: Material) -> float:
        shape, labels = material.rows("train").shape, material.labels("train")
        with seeded(material.seed):
            layer = nn.Linear(math.prod(shape[1:]), int(labels.max()) + 1)
        probe = nn.Sequential(nn.Flatten(), layer).to(material.device)

        def loss(activations: Tensor, wanted: Tensor) -> Tensor:
            return cross_entropy(probe(activations), wanted)

        material.descend(probe, loss, self.recipe)
        return material.test(probe)
