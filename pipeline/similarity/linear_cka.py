from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.arrays import Activations
from pipeline.similarity.base import Index


@dataclass(frozen=True)
class LinearCKA(Index):
    """Linear CKA, biased, of flattened activations (Kornblith et al. 2019).

    With K = X X' of centred X, CKA(X, Y) = <K, L> / (|K| |L|). The products of all layers are made for a block
    of rows at a time and only their inner products kept: exact on all samples, for all pairs at once.
    """

    larger_is_more_similar: ClassVar = True
    symmetric: ClassVar = True
    invariant_to: ClassVar = frozenset({"rotation", "translation", "scaling"})

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples = layers[0].shape[0]
        means = [_mean(layer, memory) for layer in layers]
        widest = max(int(np.prod(layer.shape[1:])) for layer in layers)
        size = max(1, min(samples, memory // (4 * 8 * samples * len(layers)), memory // (4 * 8 * widest)))
        inner = np.zeros((len(layers), len(layers)))
        for start in range(0, samples, size):
            stop = min(start + size, samples)
            products = [
                _products(layer, mean, start, stop, memory // 4).ravel()
                for layer, mean in zip(layers, means, strict=True)
            ]
            block = np.stack(products)
            inner += block @ block.T
        norms = np.sqrt(np.diag(inner))
        _refuse_constant(norms)
        return inner / np.outer(norms, norms)


def _products(layer: Activations, mean: np.ndarray, start: int, stop: int, memory: int) -> np.ndarray:
    """Centred rows `start` to `stop` times all centred rows: a strip of K."""
    here = _centred(layer, mean, start, stop)
    size = max(1, memory // (8 * mean.size))
    strips = [
        here @ _centred(layer, mean, first, min(first + size, layer.shape[0])).T
        for first in range(0, layer.shape[0], size)
    ]
    return np.concatenate(strips, 1)


def _centred(layer: Activations, mean: np.ndarray, start: int, stop: int) -> np.ndarray:
    return layer.read(start, stop).reshape(stop - start, -1).astype(np.float64) - mean


def _mean(layer: Activations, memory: int) -> np.ndarray:
    width = int(np.prod(layer.shape[1:]))
    size = max(1, memory // (4 * 8 * width))
    total = np.zeros(width)
    for start in range(0, layer.shape[0], size):
        stop = min(start + size, layer.shape[0])
        total += layer.read(start, stop).reshape(stop - start, -1).sum(0, dtype=np.float64)
    return total / layer.shape[0]


def _refuse_constant(norms: np.ndarray) -> None:
    if not norms.all():
        raise ValueError(f"layer {int(np.argmin(norms))} is the same for all samples; CKA has no value there")
