"""A LeNet-like network for small images (LeCun et al. 1998)."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import final

from torch import nn

from pipeline.errors import ModelError
from pipeline.models.base import Architecture

SMALLEST = 12  # pixels: 12 → pool 6 → conv 2 → pool 1


@final
@dataclass(frozen=True)
class LeNet(Architecture):
    """Two convolutions of 5 × 5, each averaged over 2 × 2, and three linear layers, with ReLUs between.

    Smith et al. (2025, C.3) name conv1, avgpool1, conv2 and avgpool2 but give no sizes; the classic
    ones are channels [6, 16] and hidden [120, 84].
    """

    channels: tuple[int, int]  # of the two convolutions
    hidden: tuple[int, int]  # of the two linear layers before the last

    def __post_init__(self) -> None:
        for name, sizes in (("channels", self.channels), ("hidden", self.hidden)):
            if min(sizes) < 1:
                raise ValueError(f"{name}: is {list(sizes)}; each should be 1 or more")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        images, height, width = shape
        if min(height, width) < SMALLEST:
            raise ModelError(f"lenet: images are {height} x {width}; they should be {SMALLEST} x {SMALLEST} or more")
        places = ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
        parts = OrderedDict[str, nn.Module](
            conv1=nn.Conv2d(images, self.channels[0], 5, padding=2),
            relu1=nn.ReLU(),
            pool1=nn.AvgPool2d(2),
            conv2=nn.Conv2d(self.channels[0], self.channels[1], 5),
            relu2=nn.ReLU(),
            pool2=nn.AvgPool2d(2),
            flatten=nn.Flatten(),
            fc1=nn.Linear(self.channels[1] * places, self.hidden[0]),
            relu3=nn.ReLU(),
            fc2=nn.Linear(self.hidden[0], self.hidden[1]),
            relu4=nn.ReLU(),
            fc3=nn.Linear(self.hidden[1], classes),
        )
        return nn.Sequential(parts)
