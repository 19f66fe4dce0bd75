"""What the closed forms of a group of cells share: sums over a sender's cut and the receiver's cuts."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pipeline.arrays import Activations
from pipeline.moments import Moments, Source, moments, own_moments
from pipeline.randomness import generator
from pipeline.rows import Picked
from pipeline.stages.cells import Cell
from pipeline.stitches.base import Joining


class Pairings:
    """Moments of one sender's cut with the receiver's cuts: all that share an arrangement in one pass."""

    def __init__(self, group: Sequence[Cell]) -> None:
        assert len({(cell.sender, cell.sender_cut) for cell in group}) == 1
        self._group = group
        self._found: dict[tuple[str, int | None], dict[str, Moments]] = {}
        self._targets: dict[tuple[str, int | None], Source] = {}

    def moments(self, cell: Cell, stitch: Joining, samples: int | None) -> Moments:
        key = stitch.arranging, samples
        if key not in self._found:
            cuts = [c.receiver_cut for c in self._group if self._arranging[c.receiver_cut] == stitch.arranging]
            source = _sampled(cell, cell.source().rows("train", cell.sender_cut), samples)
            targets = [_sampled(cell, cell.target().rows("train", cut), samples) for cut in cuts]
            self._found[key] = dict(zip(cuts, moments(source, targets, stitch.pairing), strict=True))
        return self._found[key][cell.receiver_cut]

    def target(self, cell: Cell, samples: int | None) -> Source:
        key = cell.receiver_cut, samples
        if key not in self._targets:
            self._targets[key] = own_moments(_sampled(cell, cell.target().rows("train", cell.receiver_cut), samples))
        return self._targets[key]

    @cached_property
    def _arranging(self) -> dict[str, str]:
        return {cell.receiver_cut: cell.stitch().arranging for cell in self._group}


def _sampled(cell: Cell, rows: Activations, samples: int | None) -> Activations:
    """The first so many of all rows in an order that the study's seed and the data decide: the same for every cut."""
    count = rows.shape[0]
    if samples is None or samples >= count:
        return rows
    order = generator(cell.root_seed, "samples", cell.data, cell.seed).permutation(count)
    return Picked(rows, np.sort(order[:samples]))
