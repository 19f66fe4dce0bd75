"""The contract of architectures."""

from abc import ABC, abstractmethod

from torch import nn


class Architecture(ABC):
    """A variant's fields are its options; names of its submodules become names of cuts."""

    @abstractmethod
    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        """The network for C × H × W inputs, freshly initialised from torch's global generator."""
