"""The contract of controls: senders that know nothing or everything, and what the activations alone can do."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.arrays import Activations, Labels, Sender

Loss = Callable[[Tensor, Tensor], Tensor]  # of a batch of activations and their labels


@dataclass(frozen=True)
class Setting:
    """What a control is a control of."""

    receiver: Sender  # its own activations, as those of a sender
    untrained: Callable[[], Sender]  # those of a fresh network of its architecture, on the same data
    classes: int
    seed: int


class Control(ABC):
    """A variant's fields are its options. It gives a sender that is stitched as any other."""

    @property
    def paired(self) -> bool:
        """Whether its samples are the receiver's, so that each has an activation of the receiver's beside it."""
        return True

    @property
    def wanted(self) -> int:
        """How many classes a receiver must tell apart, at least."""
        return 2

    @abstractmethod
    def sender(self, setting: Setting) -> Sender: ...


@dataclass(frozen=True)
class Material:
    """What a baseline learns from and is tested on: one cut of one sender."""

    rows: Callable[[str], Activations]  # of a split
    labels: Callable[[str], Labels]
    device: torch.device
    seed: int
    descend: Callable[[nn.Module, Loss, str], None]  # trains a module in place, by the recipe of that name
    test: Callable[[nn.Module], float]  # a module's accuracy on the test split


class Baseline(ABC):
    """A variant's fields are its options. It gives a number that a stitch from the same activations is held against."""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it is trained by."""
        return ()

    def needs(self, rows: Activations) -> int:
        """Bytes of memory that it cannot do without, for so many training rows."""
        return 0

    @abstractmethod
    def accuracy(self, material: Material) -> float:
        """Of the test split, by what the training split teaches."""
