import math
from dataclasses import dataclass
from typing import final

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pipeline.controls.base import Baseline, Given
from pipeline.randomness import seeded


@final
@dataclass(frozen=True)
class WholeProbe(Baseline):
    """What all numbers of the activations, as they are, say of the labels without any receiver.

    A linear layer, trained by a recipe as in Smith et al. 2025, Appendix G.4: of so many features no minimum is
    reached in reasonable time, and the least error is not what that paper asks for.
    """

    recipe: str  # a name in recipes

    @property
    def recipes(self) -> tuple[str, ...]:
        return (self.recipe,)

    def accuracy(self, given: Given) -> float:
        shape, labels = given.rows("train").shape, given.labels("train")
        with seeded(given.seed):
            layer = nn.Linear(math.prod(shape[1:]), int(labels.max()) + 1)
        probe = nn.Sequential(nn.Flatten(), layer).to(given.device)

        def loss(activations: Tensor, wanted: Tensor) -> Tensor:
            return cross_entropy(probe(activations), wanted)

        given.descend(probe, loss, self.recipe)
        return given.tested(probe)
