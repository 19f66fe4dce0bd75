"""Classifiers of activations: a residual network for maps, a transformer for tokens, an MLP for flat layers."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

from torch import Tensor, nn

from pipeline.detectors.base import require

_MLP_RATIO = 4  # hidden units of a transformer block's MLP, as multiples of the tokens' features


@final
@dataclass(frozen=True)
class Maps:
    """A ResNet of basic blocks with a stem for small images (He et al. 2016), for maps resized bilinearly."""

    size: int  # places along a side, whatever the map's own
    blocks: tuple[int, ...]  # of each stage
    width: int  # channels of the first stage; each later stage has twice the last one's

    def __post_init__(self) -> None:
        require(self.size >= 1, f"size: is {self.size}; it should be 1 or more")
        require(
            bool(self.blocks) and min(self.blocks) >= 1,
            f"blocks: is {list(self.blocks)}; it should name 1 or more blocks for each stage",
        )
        require(self.width >= 1, f"width: is {self.width}; it should be 1 or more")

    def build(self, channels: int, classes: int) -> nn.Module:
        stages, before = list[nn.Module](), self.width
        for stage, count in enumerate(self.blocks):
            after = self.width << stage
            stages.append(_Residual(before, after, 2 if stage else 1))
            stages += [_Residual(after, after, 1) for _ in range(count - 1)]
            before = after
        network = nn.Sequential(
            nn.Upsample((self.size, self.size), mode="bilinear", align_corners=False),
            *_convolved(channels, self.width, 1),
            nn.ReLU(),
            *stages,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(before, classes),
        )
        for part in network.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        return network


@final
@dataclass(frozen=True)
class Tokens:
    """Blocks of a vision transformer, a norm, and a head on the first token; without embedding or positions."""

    depth: int
    heads: int

    def __post_init__(self) -> None:
        require(self.depth >= 1, f"depth: is {self.depth}; it should be 1 or more")
        require(self.heads >= 1, f"heads: is {self.heads}; it should be 1 or more")

    def build(self, dim: int, classes: int) -> nn.Module:
        require(dim % self.heads == 0, f"heads: is {self.heads}; it should divide the tokens' {dim} features")
        blocks = [_block(dim, self.heads) for _ in range(self.depth)]
        return nn.Sequential(*blocks, nn.LayerNorm(dim, eps=1e-6), _FirstToken(), _linear(nn.Linear(dim, classes)))


@final
@dataclass(frozen=True)
class Flat:
    """An MLP with ReLUs."""

    depth: int  # hidden layers
    width: int  # units of each

    def __post_init__(self) -> None:
        require(self.depth >= 0, f"depth: is {self.depth}; it should be 0 or more")
        require(self.width >= 1, f"width: is {self.width}; it should be 1 or more")

    def build(self, features: int, classes: int) -> nn.Module:
        widths = [features, *[self.width] * self.depth]
        hidden = [part for before, after in pairwise(widths) for part in (nn.Linear(before, after), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(widths[-1], classes))


class _Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*_convolved(before, after, stride), nn.ReLU(), *_convolved(after, after, 1))
        around = nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        self.around = nn.Identity() if (before, stride) == (after, 1) else nn.Sequential(*around)

    def forward(self, x: Tensor) -> Tensor:
        return (self.inner(x) + self.around(x)).relu()


def _convolved(before: int, after: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(before, after, 3, stride, padding=1, bias=False), nn.BatchNorm2d(after)


class _FirstToken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


def _block(dim: int, heads: int) -> nn.Module:
    """Norms first, no dropout; initialised as timm has it: weights from a normal of 0.02, biases zero."""
    block = nn.TransformerEncoderLayer(
        dim, heads, _MLP_RATIO * dim, 0.0, "gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    )
    nn.init.trunc_normal_(block.self_attn.in_proj_weight, std=0.02)
    for part in (block.self_attn.out_proj, block.linear1, block.linear2):
        _linear(part)
    return block


def _linear(layer: nn.Linear) -> nn.Linear:
    nn.init.trunc_normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
