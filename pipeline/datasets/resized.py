"""Any dataset at another size, or in other channels, so that networks of different data take one shape."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from torch.nn.functional import interpolate

from pipeline.datasets.base import Labelled, Normalisation, Pixels, SameClasses, Split

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue (ITU-R BT.601), as Pillow turns colour into grey
BLOCK = 1024  # images at once


@final
@dataclass(frozen=True)
class Resized(SameClasses):
    """The images of another dataset, bilinear with antialiasing, in one channel (grey) or in three."""

    size: int
    channels: int

    def __post_init__(self) -> None:
        if self.size < 4:
            raise ValueError(f"size: is {self.size}; it should be 4 or more")
        if self.channels not in (1, 3):
            raise ValueError(f"channels: is {self.channels}; it should be 1 or 3")
        if self.source.shape()[0] not in (1, 3):
            raise ValueError(f"source: has {self.source.shape()[0]} channels; it should have 1 or 3")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source = self.source.load(root, split, seed)
        pixels = np.concatenate(list(self._blocks(source.pixels)))
        return Labelled(pixels, source.labels, tuple(f"{self.size}x{self.channels}/{name}" for name in source.ids))

    def _blocks(self, pixels: Pixels) -> Iterable[np.ndarray]:
        for start in range(0, pixels.shape[0], BLOCK):
            images = torch.from_numpy(np.array(pixels[start : start + BLOCK])).float()
            if images.shape[1] > self.channels:
                images = torch.einsum("nchw,c->nhw", images, torch.tensor(LUMA))[:, None]
            images = interpolate(images, size=(self.size, self.size), mode="bilinear", antialias=True)
            yield images.round().clamp(0, 255).to(torch.uint8).expand(-1, self.channels, -1, -1).numpy()

    def normalisation(self) -> Normalisation:
        """That of the source; the mean over channels where they become one."""
        own = self.source.normalisation()
        if len(own.mean) == self.channels:
            return own
        mean, std = (sum(values) / len(values) for values in (own.mean, own.std))
        return Normalisation((mean,) * self.channels, (std,) * self.channels)

    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.size, self.size
