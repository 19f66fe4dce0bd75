"""ResNets of basic blocks (He et al. 2016): R1111 to R2222, ResNet-18 and ResNet-34."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal, final

from torch import nn

from pipeline.models.base import Architecture

Traced = Any  # a tensor, or torch.fx's stand-in for one


@final
@dataclass(frozen=True)
class SmallResNet(Architecture):
    """Children are called what torchvision calls them, so that weights and cuts go from one to the other."""

    blocks: tuple[int, ...]  # of each stage: [1, 1, 1, 1] is R1111, [2, 2, 2, 2] is ResNet-18
    width: int  # channels of the first stage, 64 in the papers; each later stage has twice the last one's
    stem: Literal["cifar", "imagenet"]  # 3 × 3 at stride 1, or 7 × 7 at stride 2 and a max-pool

    def __post_init__(self) -> None:
        if not self.blocks or min(self.blocks) < 1:
            raise ValueError(f"blocks: is {list(self.blocks)}; it should name 1 or more blocks for each stage")
        if self.width < 1:
            raise ValueError(f"width: is {self.width}; it should be 1 or more")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        channels = [self.width << stage for stage in range(len(self.blocks))]
        parts = _stem(shape[0], self.width, self.stem)
        for stage, (number, wide) in enumerate(zip(self.blocks, channels, strict=True)):
            before, stride = (channels[stage - 1], 2) if stage else (self.width, 1)
            parts[f"layer{stage + 1}"] = nn.Sequential(
                _BasicBlock(before, wide, stride), *(_BasicBlock(wide, wide, 1) for _ in range(number - 1))
            )
        parts |= {"avgpool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "fc": nn.Linear(channels[-1], classes)}
        network = nn.Sequential(parts)
        _initialise(network)
        return network


def _stem(channels: int, width: int, kind: str) -> OrderedDict[str, nn.Module]:
    size, stride = (3, 1) if kind == "cifar" else (7, 2)
    parts = OrderedDict[str, nn.Module](
        conv1=nn.Conv2d(channels, width, size, stride, padding=size // 2, bias=False),
        bn1=nn.BatchNorm2d(width),
        relu=nn.ReLU(),
    )
    if kind == "imagenet":
        parts["maxpool"] = nn.MaxPool2d(3, stride=2, padding=1)
    return parts


class _BasicBlock(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Traced) -> Traced:
        inner = self.relu(self.bn1(self.conv1(x)))
        around = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn2(self.conv2(inner)) + around)


def _initialise(network: nn.Module) -> None:
    """Kaiming's normal initialisation by fan-out for convolutions; the rest as torch has it."""
    for part in network.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
