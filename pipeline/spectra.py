"""Spectra of representations: eigenvalues of their covariance, in float64."""

import numpy as np

from pipeline.arrays import Rows, Spectrum


def spectrum(rows: Rows) -> Spectrum:
    """Eigenvalues of the covariance of N flattened samples, falling; at most min(N - 1, D) are not zero.

    From the N × N products where that is the smaller matrix: the eigenvalues are the same.
    """
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    flat -= flat.mean(0)
    products = flat @ flat.T if len(flat) < flat.shape[1] else flat.T @ flat
    eigenvalues = np.linalg.eigvalsh(products) / max(1, len(flat) - 1)
    return np.clip(eigenvalues[::-1], 0, None)  # rounding leaves the zero ones a little to either side
