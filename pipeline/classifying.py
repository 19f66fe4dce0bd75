"""How well a module tells classes from stored activations."""

import torch
from torch import nn

from pipeline.arrays import Activations, Labels
from pipeline.networks import TEST_BATCH
from pipeline.reading import tensor


@torch.inference_mode()
def share_right(module: nn.Module, rows: Activations, labels: Labels, device: torch.device) -> float:
    """The share of the rows to which a module on the device gives their labels."""
    starts = range(0, len(labels), TEST_BATCH)
    answers = [
        module(tensor(rows.read(at, min(at + TEST_BATCH, len(labels))), device)).argmax(1).cpu() for at in starts
    ]
    return float((torch.cat(answers).numpy() == labels).mean())
