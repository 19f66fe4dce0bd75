"""Similarity of two layers by its formula, as one writes it with NumPy and SciPy: nothing is kept for the next pair."""

import numpy as np
from scipy import linalg

CUTOFF = 1e-6  # of the largest singular value: what is below it is rounding


def centred(x: np.ndarray) -> np.ndarray:
    x = x.reshape(len(x), -1).astype(np.float64)
    return x - x.mean(0)


def linear_cka(x: np.ndarray, y: np.ndarray) -> float:
    """HSIC of linear kernels, as Kornblith et al. 2019 print it."""
    centring = np.eye(len(x)) - 1 / len(x)
    kernels = [z @ z.T for z in (x.reshape(len(x), -1).astype(np.float64), y.reshape(len(y), -1).astype(np.float64))]
    k, l = (each @ centring for each in kernels)  # noqa: E741
    return float(np.trace(k @ l) / np.sqrt(np.trace(k @ k) * np.trace(l @ l)))


def linear_cka_of_features(x: np.ndarray, y: np.ndarray) -> float:
    """Their other form, for fewer features than samples."""
    x, y = centred(x), centred(y)
    return float(np.linalg.norm(x.T @ y) ** 2 / np.linalg.norm(x.T @ x) / np.linalg.norm(y.T @ y))


def pwcca(x: np.ndarray, y: np.ndarray) -> float:
    """Morcos et al. 2018, weighted by each layer in turn."""
    x, y = centred(x), centred(y)
    u, v = span(x), span(y)
    left, correlations, right = np.linalg.svd(u.T @ v, full_matrices=False)
    weights = [np.abs((u @ left).T @ x).sum(1), np.abs((v @ right.T).T @ y).sum(1)]
    return float(np.mean([w @ correlations / w.sum() for w in weights]))


def procrustes(x: np.ndarray, y: np.ndarray) -> float:
    """SciPy's, of layers of norm 1; where features are more than samples, of their triangles."""
    x, y = (z / np.linalg.norm(z) for z in (centred(x), centred(y)))
    if min(x.shape[1], y.shape[1]) > len(x):
        x, y = (np.asarray(np.linalg.qr(z.T, mode="r")).T for z in (x, y))
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    return float(2 - 2 * linalg.orthogonal_procrustes(x, y)[1])


def least_squares(x: np.ndarray, y: np.ndarray) -> float:
    """The part of Y that no map of X gives; by a basis of X where the map itself would have too many entries."""
    x, y = centred(x), centred(y)
    if x.shape[1] < len(x):
        left = y - x @ np.linalg.lstsq(x, y, rcond=CUTOFF)[0]
    else:
        basis = span(x)
        left = y - basis @ (basis.T @ y)
    return float(np.linalg.norm(left) ** 2 / np.linalg.norm(y) ** 2)


def span(x: np.ndarray) -> np.ndarray:
    u, scales, _ = np.linalg.svd(x, full_matrices=False)
    return u[:, scales > CUTOFF * scales[0]]


def cka_grid(layers: list[np.ndarray]) -> np.ndarray:
    """Linear CKA of all pairs of narrow layers: each centred once and held, as is its norm."""
    layers = [centred(x) for x in layers]
    norms = [np.linalg.norm(x.T @ x) for x in layers]
    found = np.ones((len(layers), len(layers)))
    for i, x in enumerate(layers):
        for j in range(i):
            found[i, j] = found[j, i] = np.linalg.norm(x.T @ layers[j]) ** 2 / (norms[i] * norms[j])
    return found
