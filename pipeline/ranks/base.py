"""The contract of ranks."""

from abc import ABC, abstractmethod

from pipeline.arrays import Spectrum


class Rank(ABC):
    """A variant's fields are its options."""

    @abstractmethod
    def __call__(self, spectrum: Spectrum) -> float:
        """The rank, of the covariance's eigenvalues in falling order."""
