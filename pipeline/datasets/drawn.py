"""Images that are made when a slice of them is asked for, so that a split need not fit in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """Bytes of N images of one shape; `image` makes the i-th, the same each time."""

    shape: tuple[int, ...]
    image: Callable[[int], np.ndarray]

    def __getitem__(self, index: Any) -> np.ndarray:
        rows = np.arange(self.shape[0])[index]
        pixels = np.empty((rows.size, *self.shape[1:]), np.uint8)
        for place, row in enumerate(rows.flat):
            pixels[place] = self.image(int(row))
        return pixels if rows.ndim else pixels[0]
