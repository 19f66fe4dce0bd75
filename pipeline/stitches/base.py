"""The contract of stitches: an arrangement of places, and a core that maps features at every place.

A core is one affine map shared by all places: a 1×1 convolution, or a linear layer on every token. What differs
between variants is which affine maps it may become, and how it is written down while it is trained.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.arrays import Rows, Shape
from pipeline.moments import Map, Moments, Pairing, Source
from pipeline.stitches.places import Places, arrangement, features, places_of


class Core(nn.Module, ABC):
    """Maps D features to E, initialised at random from torch's global generator."""

    keeps_all = False  # whether every direction of the source must pass, so that none can be left out
    normalises = False  # whether it works otherwise while it is trained, by what it is given
    rank: int | None = None  # the highest that its map can have, where there is one

    @abstractmethod
    def become(self, found: Map, source: Source | None = None) -> None:
        """Takes on an affine map, which must be one of those that this core can be, for inputs such as `source`."""

    @abstractmethod
    def closest(self, moments: Moments, free: Map) -> Map:
        """Of the maps this core can be, the one that least squares finds; `free` is the best of all."""

    @abstractmethod
    def forward(self, activations: Tensor) -> Tensor: ...


class Joining(nn.Module):
    """What a stitch is while it works: places arranged, features mapped.

    Arranging is the same for every feature and keeps a constant, so that it may come on either side of the core;
    it comes where there is less to do. `before` shrinks, `after` grows.
    """

    def __init__(self, before: nn.Module, core: Core, after: nn.Module, source: Shape, target: Shape) -> None:
        super().__init__()
        self.before, self.core, self.after = before, core, after
        self.shapes = source, target

    def forward(self, activations: Tensor) -> Tensor:
        return self.after(self.core(self.before(activations)))

    @property
    def pairing(self) -> Pairing:
        """For least squares, which pairs a source's places with the target's."""
        return Pairing(self._shrunk, self._spread())

    @torch.inference_mode()
    def _shrunk(self, rows: Rows) -> Rows:
        if isinstance(self.before, nn.Identity):
            return rows
        return self.before(torch.from_numpy(np.require(rows, np.float32, "W"))).numpy()

    @torch.inference_mode()
    def _spread(self) -> np.ndarray | None:
        """What each place before `after` has in each place behind it: the images of maps with a single 1."""
        if isinstance(self.after, nn.Identity):
            return None
        grid = places_of(self.before_shape())  # of maps: nothing else is spread
        places = math.prod(grid)
        images = self.after(torch.eye(places, dtype=torch.float64).reshape(1, places, *grid)).numpy()
        spread = images.reshape(places, -1) if len(self.shapes[1]) == 3 else images.reshape(-1, places).T
        return None if np.array_equal(spread, np.eye(places)) else spread

    @property
    def arranging(self) -> str:
        """Names the arrangement: joinings of one source with equal names arrange its rows alike."""
        return f"{self.before}/{self.after}"

    def identity(self) -> Map:
        """Features pass as they are; raises ValueError where they cannot."""
        source, target = features(self.before_shape()), features(self.shapes[1])
        if source != target:
            raise ValueError(f"there is no identity from {source} features to {target}")
        if self.core.rank is not None and self.core.rank < target:
            raise ValueError(f"a map of rank {self.core.rank} is no identity of {target} features")
        return Map(np.eye(target), np.zeros(target))

    def begin_at_identity(self, inputs: Callable[[], Source]) -> None:
        self.core.become(self.identity(), inputs() if self.core.normalises else None)

    def solve(self, moments: Moments, free: Map) -> None:
        """The closed form: what least squares makes of the core, given the best affine map of all."""
        self.core.become(self.core.closest(moments, free), moments.inputs)

    def before_shape(self) -> Shape:
        with torch.inference_mode():
            return tuple(self.before(torch.zeros(1, *self.shapes[0])).shape[1:])


@dataclass(frozen=True)
class Stitch(ABC):
    """A variant's fields are its options. Shapes are without the batch axis: (C, H, W), (T, D) or (D,)."""

    places: Places

    def build(self, source: Shape, target: Shape) -> Joining:
        """The map from tensors of shape `source` to `target`, initialised from torch's global generator.

        Raises ValueError, saying why, where this kind of map cannot join them.
        """
        before, after, arranged = arrangement(self.places, source, target)
        window, seen = self.seen(arranged)
        before = before if isinstance(window, nn.Identity) else nn.Sequential(before, window)
        return Joining(before, self.core(features(seen), features(target)), after, source, target)

    def seen(self, arranged: Shape) -> tuple[nn.Module, Shape]:
        """What the core sees of each place: the place itself. Raises ValueError as `core` does."""
        return nn.Identity(), arranged

    @abstractmethod
    def core(self, inputs: int, outputs: int) -> Core:
        """Raises ValueError where there is none of these sizes."""


class Affine(Core):
    """Any affine map."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        bound = 1 / math.sqrt(inputs)  # as torch initialises its convolutions
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def become(self, found: Map, source: Source | None = None) -> None:
        put(self.weight, found.weight)
        put(self.bias, found.bias)

    def closest(self, moments: Moments, free: Map) -> Map:
        return free

    def forward(self, activations: Tensor) -> Tensor:
        return affine(activations, self.weight, self.bias)


def affine(activations: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`weight` (E × D) at every place."""
    if activations.ndim == 4:
        return nn.functional.conv2d(activations, weight[:, :, None, None], bias)
    return nn.functional.linear(activations, weight, bias)


def put(parameter: Tensor, value: np.ndarray) -> None:
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.asarray(value)))
