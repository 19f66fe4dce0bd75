import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import final

from torch import nn

from pipeline.models.base import Architecture


@final
@dataclass(frozen=True)
class Perceptron(Architecture):
    """One hidden layer of ReLUs over all pixels."""

    hidden: int

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden: is {self.hidden}; it should be 1 or more")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        parts = OrderedDict[str, nn.Module](
            flatten=nn.Flatten(),
            layer1=nn.Linear(math.prod(shape), self.hidden),
            relu=nn.ReLU(),
            fc=nn.Linear(self.hidden, classes),
        )
        return nn.Sequential(parts)
