"""The contract of objectives: from a fresh stitch and what it joins to a trained one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from torch import Tensor, nn

from pipeline.moments import Map, Moments, Source

Loss = Callable[[Tensor, Tensor], Tensor]  # of a batch of the sender's activations and what they should lead to
Towards = Literal["labels", "activations"]


@runtime_checkable
class Solvable(Protocol):
    """What an objective needs of a stitch, which is also a module."""

    def solve(self, moments: Moments, free: Map) -> None: ...
    def begin_at_identity(self, inputs: Callable[[], Source]) -> None: ...


@dataclass(frozen=True)
class Joint:
    """What a stitch is to join, on the training split, and the means to do it."""

    tail: nn.Module  # the receiver after its cut, frozen
    moments: Callable[[int | None], Moments]  # of source and target, from so many samples or from all
    inputs: Callable[[], Source]  # of what the stitch's core sees of the source
    target: Callable[[int | None], Source]  # the target's own
    descend: Callable[[nn.Module, Loss, Towards], None]  # trains a module in place, by the study's recipe
    weight_decay: float  # of that recipe
    painter: nn.Module | None  # from the receiver's cut to the image it makes, where it makes one
    images: Callable[[Tensor], Tensor]  # of the receiver's own data, one at random for each of the labels
    others: Callable[[int], Tensor]  # so many of the receiver's activations on its own data, at random


class Objective(ABC):
    """A variant's fields are its options."""

    @property
    def paired(self) -> bool:
        """Whether it needs the receiver's own activations on the sender's samples."""
        return True

    @property
    def labelled(self) -> bool:
        """Whether it is told the labels."""
        return False

    @property
    def shift(self) -> int:
        """What it adds to the labels that the samples have in its study."""
        return 0

    @property
    def paints(self) -> bool:
        """Whether the receiver must make images."""
        return False

    @property
    def closed(self) -> bool:
        """Whether it is found from moments alone."""
        return False

    @property
    def solves(self) -> bool:
        """Whether it asks for moments, be it only to begin with."""
        return self.closed

    @property
    def descends(self) -> bool:
        """Whether the recipe moves its result."""
        return True

    @property
    def truncates(self) -> bool:
        """Whether it leaves directions of the source or the target out."""
        return False

    @property
    def starts_at_identity(self) -> bool:
        return False

    @abstractmethod
    def fit(self, stitch: nn.Module, joint: Joint) -> None:
        """Trains the stitch in place."""
