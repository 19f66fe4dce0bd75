"""The contract of similarity indices."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline import relations  # noqa: F401  # by which `compare` depends on what indices share
from pipeline.arrays import Activations
from pipeline.layers import Layers, opened


@dataclass(frozen=True)
class Facts:
    """What an index declares of itself, as its options have it; the tests hold it to each."""

    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    invariant_to: frozenset[str]  # of rotation, translation, scaling, invertible linear

    @property
    def best(self) -> float:
        """Of a layer and itself."""
        return self.range[1] if self.larger_is_more_similar else self.range[0]


class Index(ABC):
    """A variant's fields are its options."""

    @abstractmethod
    def facts(self) -> Facts: ...

    @abstractmethod
    def matrices(self, layers: Layers, orders: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """For each of `orders`, every layer against every layer whose samples are taken in that order.

        What is not symmetric goes from the row's layer to the column's; what is symmetric reorders the later of the
        two. What is dear of a layer is done once for all orders. A pair that the index does not define is NaN; a layer
        of which it cannot be told is refused.
        """

    def matrix(self, activations: Sequence[Activations], memory: int) -> np.ndarray:
        """Every layer against every layer, in the order given, holding about `memory` bytes at a time."""
        with opened(activations, memory) as layers:
            return next(iter(self.matrices(layers, [layers.as_they_are])))


RIGID = frozenset({"rotation", "translation", "scaling"})
LINEAR = RIGID | {"invertible linear"}
