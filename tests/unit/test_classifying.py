"""Shares of rows that are told right, over more than one block of them."""

import numpy as np
import torch
from torch import nn

from pipeline.arrays import Held
from pipeline.classifying import share_right
from pipeline.networks import TEST_BATCH


def test_every_row_counts_once_however_short_the_last_block() -> None:
    for samples in (1, TEST_BATCH, TEST_BATCH + 1, 2 * TEST_BATCH + 7):
        labels = np.arange(samples) % 3
        rows = np.eye(3, dtype=np.float32)[labels]
        wrong = labels.copy()
        wrong[-1] = (wrong[-1] + 1) % 3

        assert share_right(nn.Identity(), Held(rows), labels, torch.device("cpu")) == 1
        assert share_right(nn.Identity(), Held(rows), wrong, torch.device("cpu")) == (samples - 1) / samples
