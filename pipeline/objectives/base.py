"""The contract of objectives: from a fresh stitch and what it joins to a trained one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.arrays import Activations

Loss = Callable[[Tensor, Tensor], Tensor]  # of a batch of the sender's activations and its labels
Descend = Callable[[nn.Module, Loss], None]  # trains a module in place, by the study's recipe


@dataclass(frozen=True)
class Joint:
    """What a stitch is to join, on the training split."""

    source: Activations  # the sender's
    target: Activations  # the receiver's own, of the same samples
    tail: nn.Module  # the receiver after its cut, frozen
    device: torch.device


class Objective(ABC):
    """A variant's fields are its options."""

    @abstractmethod
    def fit(self, stitch: nn.Module, joint: Joint, descend: Descend) -> nn.Module:
        """`stitch`, trained."""
