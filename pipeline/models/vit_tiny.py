"""Small vision transformers (Dosovitskiy et al. 2021; ViT-Ti of Touvron et al. 2021)."""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from pipeline.errors import ModelError
from pipeline.models.base import Architecture

MLP_RATIO = 4  # hidden units of a block's MLP, as multiples of dim
EPSILON = 1e-6  # of every layer norm

Traced = Any  # a tensor, or torch.fx's stand-in for one


@final
@dataclass(frozen=True)
class ViTTiny(Architecture):
    """Pre-norm blocks with a class token and learnt positions; names and layout are timm's.

    Balogh and Jelasity (2025) take patch 4 at 32 × 32, depth 12, heads 3 and dim 192.
    """

    patch: int  # pixels along a patch's side
    depth: int  # blocks
    heads: int
    dim: int  # features of a token

    def __post_init__(self) -> None:
        for name in ("patch", "depth", "heads", "dim"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: is {getattr(self, name)}; it should be 1 or more")
        if self.dim % self.heads:
            raise ValueError(f"dim: is {self.dim}; it should be a multiple of the {self.heads} heads")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        channels, height, width = shape
        if height % self.patch or width % self.patch:
            raise ModelError(
                f"vit_tiny: images of {height} x {width} do not divide into patches of {self.patch}; "
                "patch should divide both"
            )
        places = (height // self.patch) * (width // self.patch)
        network = _ViT(self, channels, places, classes)
        _initialise(network)
        return network


class _ViT(nn.Module):
    def __init__(self, sizes: ViTTiny, channels: int, places: int, classes: int) -> None:
        super().__init__()
        self.patch_embed = _PatchEmbedding(channels, sizes.dim, sizes.patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, sizes.dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + places, sizes.dim))
        self.blocks = nn.Sequential(*(_Block(sizes.dim, sizes.heads) for _ in range(sizes.depth)))
        self.norm = nn.LayerNorm(sizes.dim, eps=EPSILON)
        self.head = nn.Linear(sizes.dim, classes)

    def forward(self, x: Traced) -> Traced:
        patches = self.patch_embed(x)
        tokens = torch.cat([self.cls_token.expand(patches.shape[0], -1, -1), patches], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(tokens))[:, 0])


class _PatchEmbedding(nn.Module):
    def __init__(self, channels: int, dim: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, stride=patch)

    def forward(self, x: Traced) -> Traced:
        return self.proj(x).flatten(2).transpose(1, 2)


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=EPSILON)
        self.attn = _Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=EPSILON)
        self.mlp = _MLP(dim)

    def forward(self, x: Traced) -> Traced:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Traced) -> Traced:
        # N T 3D → 3 N heads T D/heads; no size is read off x, so that the graph holds tensors only
        qkv = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
        return self.proj(mixed.transpose(1, 2).flatten(2))


class _MLP(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dim, MLP_RATIO * dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(MLP_RATIO * dim, dim)

    def forward(self, x: Traced) -> Traced:
        return self.fc2(self.act(self.fc1(x)))


def _initialise(network: _ViT) -> None:
    """As timm by default: linear weights and positions from a normal of 0.02 cut at ±2, biases zero."""
    nn.init.trunc_normal_(network.pos_embed, std=0.02)
    nn.init.normal_(network.cls_token, std=1e-6)
    for part in network.modules():
        if isinstance(part, nn.Linear):
            nn.init.trunc_normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)
