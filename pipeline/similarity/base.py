"""The contract of similarity indices."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline import factors, relations  # noqa: F401  # by which `compare` depends on what indices share
from pipeline.arrays import Activations


@dataclass(frozen=True)
class Facts:
    """What an index declares of itself, as its options have it; the tests hold it to each."""

    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    invariant_to: frozenset[str]  # of rotation, translation, scaling, invertible linear


class Index(ABC):
    """A variant's fields are its options."""

    @abstractmethod
    def facts(self) -> Facts: ...

    @abstractmethod
    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        """Every layer against every layer, in the order given, holding about `memory` bytes at a time.

        All layers are of the same samples in the same order. What is not symmetric goes from the row's layer to the
        column's. A pair that the index does not define is NaN; a layer of which it cannot be told is refused.
        """


RIGID = frozenset({"rotation", "translation", "scaling"})
LINEAR = RIGID | {"invertible linear"}
