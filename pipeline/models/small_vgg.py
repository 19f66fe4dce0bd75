"""VGG without BatchNorm (Simonyan and Zisserman 2015), as wide as one likes."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, final

from torch import nn

from pipeline.models.base import Architecture

_PLAN_WIDTH = 64  # of the papers, for which torchvision's deviations of initial weights are meant
_CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


@final
@dataclass(frozen=True)
class SmallVGG(Architecture):
    """Modules are called and numbered as torchvision does, so that weights and cuts go from one to the other."""

    depth: Literal[11, 13, 16, 19]  # layers with weights
    width: int  # channels of the first stage, 64 in the papers; the hidden layers have 64 times as many units

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width: is {self.width}; it should be 1 or more")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        layers, before = list[nn.Module](), shape[0]
        for count, factor in zip(_CONVOLUTIONS[self.depth], (1, 2, 4, 8, 8), strict=True):
            for _ in range(count):
                layers += [nn.Conv2d(before, factor * self.width, 3, padding=1), nn.ReLU()]
                before = factor * self.width
            layers.append(nn.MaxPool2d(2))
        hidden = 64 * self.width
        network = nn.Sequential(
            OrderedDict[str, nn.Module](
                features=nn.Sequential(*layers),
                avgpool=nn.AdaptiveAvgPool2d(7),
                flatten=nn.Flatten(),
                classifier=nn.Sequential(
                    nn.Linear(49 * before, hidden), nn.ReLU(), nn.Dropout(),
                    nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(),
                    nn.Linear(hidden, classes),
                ),
            )
        )  # fmt: skip
        self._initialise(network)
        return network

    def _initialise(self, network: nn.Module) -> None:
        """As torchvision; a narrower layer's weights vary more, so that what it passes on varies as much."""
        for part in network.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(part, nn.Linear):
                nn.init.normal_(part.weight, 0, 0.01 * (_PLAN_WIDTH / self.width) ** 0.5)
            if isinstance(part, (nn.Conv2d, nn.Linear)) and part.bias is not None:
                nn.init.zeros_(part.bias)
