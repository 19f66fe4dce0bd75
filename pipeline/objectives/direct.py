from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from pipeline.arrays import Activations, Rows
from pipeline.objectives.base import Descend, Joint, Objective

BLOCK_BYTES = 2**26  # of float64 held at once while moments are summed


@dataclass(frozen=True)
class Direct(Objective):
    """Direct matching: the affine map with the least squared distance to the receiver's own activations.

    Every place of every sample is a row. The bias is found by centring both sides, so it is not penalised.
    Solved from the float64 covariances, streamed; directions of the source whose deviation is under `cutoff`
    of the largest are left out, which gives the least-norm solution on rank-deficient sources.
    """

    cutoff: float

    def __post_init__(self) -> None:
        if not 0 < self.cutoff < 1:
            raise ValueError(f"cutoff: is {self.cutoff:g}; it should be above 0 and below 1")

    def fit(self, stitch: nn.Module, joint: Joint, descend: Descend) -> nn.Module:
        weight, bias = least_squares(joint.source, joint.target, self.cutoff)
        stitch.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
        return stitch.eval()


def least_squares(source: Activations, target: Activations, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """W (E × D) and b (E) that minimise the mean of |W x + b - y|² over all places of all samples."""
    mean_x, mean_y = _mean(source), _mean(target)
    xx = np.zeros((len(mean_x), len(mean_x)))
    xy = np.zeros((len(mean_x), len(mean_y)))
    size = max(1, BLOCK_BYTES // (8 * int(np.prod(source.shape[1:]) + np.prod(target.shape[1:]))))
    for start in range(0, source.shape[0], size):
        stop = min(start + size, source.shape[0])
        x = by_place(source.read(start, stop)) - mean_x
        y = by_place(target.read(start, stop)) - mean_y
        xx += x.T @ x
        xy += x.T @ y
    variances, directions = np.linalg.eigh(xx)
    kept = variances > variances[-1] * cutoff**2
    weight = (directions[:, kept] / variances[kept]) @ (directions[:, kept].T @ xy)
    return weight.T, mean_y - weight.T @ mean_x


def by_place(rows: Rows) -> np.ndarray:
    """N × C × H × W, N × T × D or N × D as float64 places × features."""
    if rows.ndim == 4:
        rows = rows.transpose(0, 2, 3, 1)
    return rows.reshape(-1, rows.shape[-1]).astype(np.float64)


def _mean(rows: Activations) -> np.ndarray:
    size = max(1, BLOCK_BYTES // (8 * int(np.prod(rows.shape[1:]))))
    total, count = 0.0, 0
    for start in range(0, rows.shape[0], size):
        block = by_place(rows.read(start, min(start + size, rows.shape[0])))
        total, count = total + block.sum(0), count + len(block)
    return np.asarray(total / count)
