"""Spectra of representations: eigenvalues of their covariance, in float64, some rows at a time."""

from collections.abc import Iterator

import numpy as np

from pipeline.arrays import Activations, Spectrum
from pipeline.errors import ResourceError


def spectrum(rows: Activations, memory: int) -> Spectrum:
    """Eigenvalues of the covariance of N flattened samples, falling; at most min(N - 1, D) are not zero.

    From the N × N products where that is the smaller matrix: the eigenvalues are the same.
    """
    samples, width = rows.shape[0], int(np.prod(rows.shape[1:]))
    needed = 3 * 8 * min(samples, width) ** 2  # the matrix, and what its eigenvalues are found in
    if needed > memory:
        raise ResourceError(
            f"ranks: {width} features of {samples} samples need {needed / 1e9:.3g} GB of {memory / 1e9:.3g} for their "
            "spectrum; machine.memory_gb should be more, or the cut a later one"
        )
    total = np.zeros(width)
    for _, block in _blocks(rows, np.zeros(width), memory):
        total += block.sum(0)
    mean = total / samples
    products = _of_samples(rows, mean, memory) if samples < width else _of_features(rows, mean, memory)
    eigenvalues = np.linalg.eigvalsh(products) / max(1, samples - 1)
    return np.clip(eigenvalues[::-1], 0, None)  # rounding leaves the zero ones a little to either side


def _of_features(rows: Activations, mean: np.ndarray, memory: int) -> np.ndarray:
    products = np.zeros((len(mean),) * 2)
    for _, block in _blocks(rows, mean, memory):
        products += block.T @ block
    return products


def _of_samples(rows: Activations, mean: np.ndarray, memory: int) -> np.ndarray:
    products = np.empty((rows.shape[0],) * 2)
    for part, block in _blocks(rows, mean, memory):
        for other, against in _blocks(rows, mean, memory):
            products[part, other] = block @ against.T
    return products


def _blocks(rows: Activations, mean: np.ndarray, memory: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Flattened, less the mean; of a quarter of the memory each."""
    samples, width = rows.shape[0], int(np.prod(rows.shape[1:]))
    size = max(1, memory // (4 * 8 * width))
    for start in range(0, samples, size):
        part = slice(start, min(start + size, samples))
        yield part, rows.read(part.start, part.stop).reshape(part.stop - start, -1).astype(np.float64) - mean
