"""The contract of architectures."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import cross_entropy


class Architecture(ABC):
    """A variant's fields are its options; names of its submodules become names of cuts."""

    image: ClassVar[str] = ""  # the cut at which networks have made an image, where they make one

    @abstractmethod
    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        """The network for C × H × W inputs, freshly initialised from torch's global generator."""

    def loss(self, network: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
        """What training makes small."""
        return cross_entropy(network(inputs), labels)
