"""Inputs through a network once → activations at every cut wanted, batch by batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, fx

from pipeline.arrays import Rows
from pipeline.cutting import Cut
from pipeline.prepared import SplitData


@dataclass(frozen=True)
class Captured:
    """One batch: its first row, the activations by cut, and the network's own answer."""

    start: int
    activations: dict[str, Rows]
    logits: Tensor


def capture(
    taps: fx.GraphModule, cuts: Sequence[Cut], data: SplitData, batch: int, start: int, device: torch.device
) -> Iterator[Captured]:
    """Batches of `data` from row `start` on, run through `taps` (see `Cuttable.taps`)."""
    for first in range(start, len(data), batch):
        with torch.inference_mode():
            *tensors, logits = taps(data.batch(slice(first, first + batch), device))
        rows = {cut.name: np.ascontiguousarray(tensor.cpu().numpy()) for cut, tensor in zip(cuts, tensors, strict=True)}
        yield Captured(first, rows, logits.cpu())
