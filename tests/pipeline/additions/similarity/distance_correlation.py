from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.spatial.distance import cdist

from pipeline.arrays import Activations
from pipeline.similarity.base import Index


@final
@dataclass(frozen=True)
class DistanceCorrelation(Index):
    """Correlation of the distances between samples in two layers (Székely, Rizzo & Bakirov 2007).

    With A the Euclidean distances between the rows of X, centred in rows and columns, dCor(X, Y)² is
    <A, B> / (|A| |B|). Strips of A are made for all layers at once; one layer is held whole at a time.
    """

    larger_is_more_similar: ClassVar = True
    symmetric: ClassVar = True
    invariant_to: ClassVar = frozenset({"rotation", "translation", "scaling"})

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples = layers[0].shape[0]
        size = max(1, memory // (3 * 8 * samples * len(layers)))
        parts = [slice(start, start + size) for start in range(0, samples, size)]
        means = [np.concatenate([_distances(layer, part).mean(1) for part in parts]) for layer in layers]
        inner = np.zeros((len(layers), len(layers)))
        for part in parts:
            strips = np.stack([_centred(layer, part, mean).ravel() for layer, mean in zip(layers, means, strict=True)])
            inner += strips @ strips.T
        norms = np.sqrt(np.diag(inner))
        if not norms.all():
            raise ValueError(f"layer {int(np.argmin(norms))} is the same for all samples; it correlates with nothing")
        return np.sqrt(np.clip(inner / np.outer(norms, norms), 0, 1))


def _distances(layer: Activations, part: slice) -> np.ndarray:
    rows = layer.read(0, layer.shape[0]).reshape(layer.shape[0], -1)
    return cdist(rows[part], rows)


def _centred(layer: Activations, part: slice, mean: np.ndarray) -> np.ndarray:
    return _distances(layer, part) - mean[part, None] - mean + mean.mean()
