"""Names for arrays. Axes: N images, C H W channels and places, T tokens, D E features, K classes."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int64, Shaped, UInt8

Images = UInt8[np.ndarray, "N C H W"]
Labels = Int64[np.ndarray, " N"]
Rows = Shaped[np.ndarray, "N ..."]
Spectrum = Float[np.ndarray, " D"]
Shape = tuple[int, ...]
Json = dict[str, Any]

PAINTED = 16  # test images of which cells keep what they paint, where they paint


class Layer(NamedTuple):
    """What a similarity is of."""

    model: str
    seed: int
    cut: str


@runtime_checkable
class Activations(Protocol):
    """N rows at one cut, however they are kept."""

    @property
    def shape(self) -> Shape:
        """With the rows first."""
        ...

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows in order."""
        ...

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Rows in the order asked for."""
        ...


@dataclass(frozen=True)
class Held:
    """Rows in memory, read like any."""

    values: np.ndarray

    @property
    def shape(self) -> Shape:
        return self.values.shape

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.values[start:stop]

    def take(self, indices: np.ndarray) -> np.ndarray:
        return self.values[indices]


@runtime_checkable
class Sender(Protocol):
    """Activations at several cuts over the same samples: a store, or something that is read like one."""

    @property
    def digest(self) -> str:
        """Of all that it holds."""
        ...

    @property
    def cuts(self) -> tuple[str, ...]: ...

    def shape(self, cut: str) -> Shape:
        """Of one row."""
        ...

    def labels(self, split: str) -> Labels: ...

    def rows(self, split: str, cut: str) -> Activations: ...


def first_classes(measure: str, count: int) -> str:
    """The name of a measure that is taken on samples of the first so many classes only."""
    return f"{measure}_of_{count}"
