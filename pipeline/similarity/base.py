"""The contract of similarity indices."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pipeline.arrays import Activations


class Index(ABC):
    """A variant's fields are its options; what it declares of itself, the tests hold it to."""

    larger_is_more_similar: ClassVar[bool]
    symmetric: ClassVar[bool]
    invariant_to: ClassVar[frozenset[str]]  # of rotation, translation, scaling

    @abstractmethod
    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        """Every layer against every layer, in the order given, holding about `memory` bytes at a time.

        All layers are of the same samples in the same order.
        """
