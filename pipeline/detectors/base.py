"""The contract of detectors: from a receiver's own activations to scores of any others at the same cut."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.arrays import Activations, Labels
from pipeline.separation import Scores

Loss = Callable[[Tensor, Tensor], Tensor]  # of a batch of activations and their labels
Data = Literal["own", "mixed"]  # the receiver's own, or batches half of them and half auxiliary ones
State = Mapping[str, Tensor]

OUTSIDE = -1  # the label of auxiliary activations
_BATCH = 512  # rows that go through a network together when they are scored


@dataclass(frozen=True)
class Setting:
    """What a detector is fitted to: one cut of one receiver, on the training split of its own data."""

    rows: Activations
    labels: Labels
    classes: int
    tail: nn.Module  # the receiver after the cut, frozen, evaluating, on the device: activations → logits
    device: torch.device
    memory: int  # bytes that may be held at a time
    seed: int
    descend: Callable[[nn.Module, Loss, Data, str], None]  # trains a module in place, by the recipe of that name


class Fitted(ABC):
    """Scores any activations of the cut's shape; the rows it is asked about are not to be those it was fitted to."""

    @abstractmethod
    def scores(self, rows: Activations) -> Scores:
        """One a row; the larger, the more out of distribution."""

    def state(self) -> dict[str, Tensor]:
        """What training has found, for `load`; nothing where nothing is trained."""
        return {}


class Detector(ABC):
    """A variant's fields are its options."""

    @property
    def recipes(self) -> tuple[str, ...]:
        """Names of the recipes that it is trained by."""
        return ()

    @property
    def trained(self) -> bool:
        """Whether it has a network of its own, which it is worth keeping the state of."""
        return bool(self.recipes)

    @property
    def auxiliary(self) -> bool:
        """Whether it needs activations that are out of distribution: the other half of `mixed` batches."""
        return False

    @abstractmethod
    def fit(self, setting: Setting) -> Fitted:
        """Raises ValueError, beginning with an option's name, where an option does not go with the setting."""

    def load(self, setting: Setting, state: State) -> Fitted:
        """What `fit` gave when its state was this; what is not trained is fitted again."""
        return self.fit(setting)


@torch.inference_mode()
def energies(network: nn.Module, rows: Activations, temperature: float, device: torch.device) -> Scores:
    """The energy -T · logsumexp(logits / T) of all rows (Liu et al. 2020): low where a network knows its answer."""
    found = np.empty(rows.shape[0])
    for start in range(0, len(found), _BATCH):
        stop = min(start + _BATCH, len(found))
        batch = np.require(rows.read(start, stop), np.float32, "W")  # never an alias of a mapped file
        found[start:stop] = energy(network(torch.from_numpy(batch).to(device)).cpu().double(), temperature).numpy()
    return found


def energy(logits: Tensor, temperature: float) -> Tensor:
    return -temperature * torch.logsumexp(logits / temperature, 1)


def require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
