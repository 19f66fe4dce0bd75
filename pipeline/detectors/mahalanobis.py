from dataclasses import dataclass
from typing import final

import numpy as np

from pipeline.arrays import Activations, Labels
from pipeline.detectors.base import Detector, Fitted, Setting, require
from pipeline.detectors.features import Block, Features, Of, held
from pipeline.separation import Scores


@final
@dataclass(frozen=True)
class Mahalanobis(Detector):
    """The squared Mahalanobis distance to the nearest class mean (Lee et al. 2018), by one covariance for all classes.

    S is the mean over all N samples of the squares around their class's mean. It becomes (1 - shrinkage) · S +
    shrinkage · trace(S) / D · I. Directions whose variance is then `cutoff` of the largest, or less, are left out, so
    with no shrinkage nothing is seen along directions in which no class varies: S is inverted where it can be.
    """

    of: Of
    shrinkage: float
    cutoff: float

    def __post_init__(self) -> None:
        require(0 <= self.shrinkage <= 1, f"shrinkage: is {self.shrinkage:g}; it should be from 0 to 1")
        require(0 < self.cutoff < 1, f"cutoff: is {self.cutoff:g}; it should be above 0 and below 1")

    def fit(self, setting: Setting) -> "FittedMahalanobis":
        features = Features(setting.rows, self.of)
        self._affordable(features, setting.memory)
        features = held(features, setting.memory // 2)
        means, which = _class_means(features, setting.labels, setting.memory // 4)
        origin = np.bincount(which) @ means / len(which)
        basis = _span(features.read(0, features.samples) - origin) if features.samples <= features.width else None
        variances, directions = np.linalg.eigh(_within(features, means, which, basis, setting.memory // 4))
        rounding = (1e-14 * float(np.abs(means).max())) ** 2
        require(
            float(variances[-1]) > rounding,
            f"of: {self.of} activations are the same for all samples of a class, and nothing is a distance to that",
        )
        mean = float(variances.sum()) / features.width
        variances = (1 - self.shrinkage) * variances + self.shrinkage * mean
        least = self.cutoff * float(variances[-1])
        whitening = directions[:, variances > least] / np.sqrt(variances[variances > least])
        beyond = 1 / (self.shrinkage * mean) if self.shrinkage * mean > least else 0.0
        return FittedMahalanobis(self.of, origin, basis, whitening, beyond, means - origin, setting.memory)

    def _affordable(self, features: Features, memory: int) -> None:
        """The covariance and its eigenvectors, or with few samples themselves and the space they span."""
        wide, small = features.width, min(features.samples, features.width)
        needed = 8 * (6 * small * wide + 4 * small**2)
        require(
            needed <= memory,
            f"of: is {self.of}, and {wide} features of {features.samples} samples need {needed / 1e9:.3g} GB of "
            f"{memory / 1e9:.3g}; it should be pooled, or the cut a later one",
        )


@dataclass(frozen=True)
class FittedMahalanobis(Fitted):
    of: Of
    origin: np.ndarray
    basis: np.ndarray | None  # D × R, of all that the training samples span, where they do not span everything
    whitening: np.ndarray  # R × S
    beyond: float  # one over the variance in every direction outside the basis; 0 leaves those out
    means: np.ndarray  # of the classes, from the origin
    memory: int

    def scores(self, rows: Activations) -> Scores:
        features = Features(rows, self.of)
        return np.concatenate([self._distances(block) for _, block in features.blocks(self.memory // 4)])

    def _distances(self, block: Block) -> Scores:
        apart = block - self.origin
        within, centres = self._whitened(apart), self._whitened(self.means)
        nearest = np.min([np.square(within - centre).sum(1) for centre in centres], 0)
        if self.basis is None or not self.beyond:
            return nearest
        return nearest + self.beyond * np.square(apart - apart @ self.basis @ self.basis.T).sum(1)

    def _whitened(self, apart: Block) -> Block:
        return (apart if self.basis is None else apart @ self.basis) @ self.whitening


def _class_means(features: Features, labels: Labels, memory: int) -> tuple[Block, np.ndarray]:
    """Of the classes there are samples of, and for each sample which of them is its own."""
    classes, which = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(classes), features.width))
    for start, block in features.blocks(memory):
        sums += (which[start : start + len(block)] == np.arange(len(classes))[:, None]) @ block
    return sums / np.bincount(which)[:, None], which


def _within(features: Features, means: Block, which: np.ndarray, basis: np.ndarray | None, memory: int) -> Block:
    """The covariance around class means, on the basis if there is one."""
    total = 0.0
    for start, block in features.blocks(memory):
        apart = block - means[which[start : start + len(block)]]
        apart = apart if basis is None else apart @ basis
        total = total + apart.T @ apart
    return np.asarray(total) / features.samples


def _span(centred: Block) -> np.ndarray:
    """Orthonormal columns that span the rows; those that are rounding span nothing."""
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    return directions[sizes > sizes[0] * max(centred.shape) * np.finfo(float).eps].T
