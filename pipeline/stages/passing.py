"""What a module makes of activations, held where there is room and else worked out when it is read."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from pipeline.arrays import Activations, Held, Rows, Shape
from pipeline.reading import tensor

_BATCH = 512


@dataclass(frozen=True)
class Passed:
    """Worked out anew whenever it is read."""

    module: nn.Module
    rows: Activations
    place: torch.device
    row: Shape

    @property
    def shape(self) -> Shape:
        return self.rows.shape[0], *self.row

    def read(self, start: int, stop: int) -> Rows:
        parts = range(start, stop, _BATCH)
        return np.concatenate([self._of(self.rows.read(at, min(at + _BATCH, stop))) for at in parts])

    def take(self, indices: np.ndarray) -> Rows:
        return self._of(self.rows.take(indices))

    @torch.inference_mode()
    def _of(self, block: Rows) -> Rows:
        return self.module(tensor(block, self.place)).cpu().numpy()


def through(module: nn.Module, rows: Activations, place: torch.device, memory: int) -> Activations:
    """What `module` makes of all rows."""
    module = module.to(place)
    row = Passed(module, rows, place, ()).read(0, 1).shape[1:]
    passed = Passed(module, rows, place, row)
    fits = 4 * int(np.prod(passed.shape)) <= memory // 4
    return Held(passed.read(0, passed.shape[0])) if fits else passed
