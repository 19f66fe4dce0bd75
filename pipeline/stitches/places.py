"""From the places of one shape to those of another, without a parameter.

Shapes are (C, H, W) for maps, (T, D) for tokens and (D,) for flat layers. T tokens are a square grid, or a square
grid behind a class token.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from pipeline.arrays import Shape

Places = Literal["keep", "bilinear", "strided"]
Steps = tuple[nn.Module, nn.Module, Shape]  # before the core, after it, and the shape between


def arrangement(places: Places, source: Shape, target: Shape) -> Steps:
    """Modules that shrink (to go before the core) and grow (after it); raises ValueError where there are none."""
    if places_of(source) == places_of(target):
        return nn.Identity(), nn.Identity(), source
    if places == "keep":
        raise ValueError(f"places are to be kept, and {said(source)} cannot become {said(target)}")
    return _bilinear(source, target) if places == "bilinear" else _strided(source, target)


def features(shape: Shape) -> int:
    """How many numbers a place has: channels of a map, dimensions of a token or a flat layer."""
    return shape[0] if len(shape) == 3 else shape[-1]


def places_of(shape: Shape) -> Shape:
    """The axes that are not features: height and width, tokens, or none."""
    return shape[1:] if len(shape) == 3 else shape[:-1]


def said(shape: Shape) -> str:
    kinds = {3: "a map of {1}×{2} places", 2: "{0} tokens", 1: "a flat layer"}
    return kinds[len(shape)].format(*shape) if len(shape) in kinds else f"a layer of {len(shape)} axes"


def _bilinear(source: Shape, target: Shape) -> Steps:
    """Resized as Balogh & Jelasity (2025) do; tokens through the grid they come from, flat layers by the mean."""
    grid, goal = _grid(source), _grid(target)
    steps: list[nn.Module] = [] if len(source) == 3 else [ToMap(grid, source)]
    grows = math.prod(goal) > math.prod(grid)
    back = [] if len(target) == 3 else [FromMap(target)]
    resize = [] if grid == goal else [nn.AdaptiveAvgPool2d(1) if goal == (1, 1) else Resize(goal)]
    between = (features(source), *grid)
    if grows:
        return nn.Sequential(*steps), nn.Sequential(*resize, *back), between
    return nn.Sequential(*steps, *resize), nn.Sequential(*back), (features(source), *goal)


def _strided(source: Shape, target: Shape) -> Steps:
    """As Hernandez et al. (2022): k×k convolutions of stride k, nearest upsampling, all of a map into a flat layer."""
    if len(target) == 1:
        return nn.Flatten(), nn.Identity(), (math.prod(source),)
    if len(source) != 3 or len(target) != 3:
        raise ValueError(
            f"a strided convolution joins maps, or anything to a flat layer; not {said(source)} to {said(target)}"
        )
    (height, width), (wanted_height, wanted_width) = places_of(source), places_of(target)
    down, up = height // wanted_height, wanted_height // height
    if down >= 1 and (wanted_height * down, wanted_width * down) == (height, width):
        return nn.PixelUnshuffle(down), nn.Identity(), (source[0] * down**2, wanted_height, wanted_width)
    if up >= 1 and (height * up, width * up) == (wanted_height, wanted_width):
        return nn.Identity(), nn.Upsample(scale_factor=up, mode="nearest"), source
    raise ValueError(f"a stride is a whole number, and {said(source)} to {said(target)} is none; use places: bilinear")


def _grid(shape: Shape) -> tuple[int, int]:
    """Height and width of the places, without a class token."""
    if len(shape) == 3:
        return shape[1], shape[2]
    if len(shape) == 1:
        return 1, 1
    for tokens in (shape[0], shape[0] - 1):
        side = math.isqrt(max(tokens, 0))
        if side > 0 and side * side == tokens:
            return side, side
    raise ValueError(f"{shape[0]} tokens are no square grid, with a class token or without")


class Resize(nn.Module):
    """Bilinear, without antialias, corners not aligned."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__()
        self.size = size

    def forward(self, maps: Tensor) -> Tensor:
        return nn.functional.interpolate(maps, size=self.size, mode="bilinear", align_corners=False)

    def extra_repr(self) -> str:
        return f"{self.size}"


class ToMap(nn.Module):
    """Tokens on their grid, a class token left out; a flat layer as a map of one place."""

    def __init__(self, grid: tuple[int, int], source: Shape) -> None:
        super().__init__()
        self.grid, self.extra = grid, (source[0] if len(source) == 2 else 1) - math.prod(grid)

    def forward(self, rows: Tensor) -> Tensor:
        if rows.ndim == 2:
            return rows[:, :, None, None]
        return rows[:, self.extra :].transpose(1, 2).unflatten(2, self.grid)

    def extra_repr(self) -> str:
        return f"{self.grid}, {self.extra}"


class FromMap(nn.Module):
    """A map as tokens, with their mean for a class token where one is wanted; or its one place as a flat layer."""

    def __init__(self, target: Shape) -> None:
        super().__init__()
        self.target = target

    def forward(self, maps: Tensor) -> Tensor:
        tokens = maps.flatten(2).transpose(1, 2)
        if len(self.target) == 1:
            return tokens[:, 0]
        if tokens.shape[1] < self.target[0]:
            tokens = torch.cat([tokens.mean(1, keepdim=True), tokens], 1)
        return tokens

    def extra_repr(self) -> str:
        return f"{self.target[:-1]}"
