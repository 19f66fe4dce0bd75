"""The contract of controls: senders that know nothing or everything, and what the activations alone can do."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pipeline.arrays import Labels, Rows, Sender
from pipeline.probing import Others
from pipeline.views import Whole


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


class Baseline(ABC):
    """A variant's fields are its options. It gives a number that a stitch from the same activations is held against."""

    of: ClassVar[Whole]  # which numbers of an activation are the features of a row

    @abstractmethod
    def accuracy(self, train: tuple[Rows, Labels], test: Others) -> float:
        """Of the test split, by what the training split teaches; rows have a single axis of features."""
