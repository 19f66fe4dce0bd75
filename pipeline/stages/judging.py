"""A receiver's detectors, asked of what a stitch gives them: how far it lies outside, in numbers and in bars."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pipeline import paths
from pipeline.arrays import Activations
from pipeline.detectors.base import Fitted
from pipeline.params import Detection, Params
from pipeline.separation import Scores, auprc, auroc, auroc_interval, fpr_at
from pipeline.stages.detecting import Watch
from pipeline.tables import HEIGHTS

_BINS = 32
_DRAWN = 0  # the seed of resamples: the same for all, so that they differ by their scores alone


class Judged(NamedTuple):
    """A detector's scores of the receiver's own activations and of stitched ones."""

    detector: str
    own: Scores
    stitched: Scores
    paired: bool  # whether these are of the same images


class Judges:
    """All detectors of a receiver, asked cut by cut; those of one cut are held."""

    def __init__(self, params: Params, receiver: str, seed: int) -> None:
        self._watch = Watch(params, receiver, seed, paths.detectors(receiver, seed))
        self._cut = ""
        self._judges: dict[str, tuple[Fitted, Scores]] = {}

    def __call__(self, cut: str, stitched: Activations, paired: bool) -> list[Judged]:
        if cut != self._cut:
            judges = {name: self._watch.fitted(cut, name) for name in self._watch.detectors}
            inside = self._watch.inside(cut)
            self._judges = {name: (judge, judge.scores(inside)) for name, judge in judges.items()}
            self._cut = cut
        return [Judged(name, own, judge.scores(stitched), paired) for name, (judge, own) in self._judges.items()]


def measures(judged: Judged, options: Detection) -> Iterator[tuple[str, float]]:
    """How well the detector tells stitched from own, which of them is to be found being the stitched."""
    name, own, stitched, paired = judged
    yield f"auroc_{name}", auroc(own, stitched)
    interval = auroc_interval(own, stitched, options.confidence, options.resamples, _DRAWN, paired)
    yield from zip((f"auroc_{name}_low", f"auroc_{name}_high"), interval, strict=True)
    yield f"average_precision_{name}", auprc(own, stitched, "average")
    yield f"fpr_at_95_{name}", fpr_at(own, stitched, 0.95)


def bars(judged: Judged) -> Iterator[dict[str, Any]]:
    """How many of either side score from `low` to `high`: bins of one width, or of one ratio where all are positive.

    The stitched may lie thousands of times further out than the own, which one width would put into a single bin.
    """
    name, own, stitched, _ = judged
    both = np.concatenate([own, stitched])
    low, high = both.min(), both.max()
    if high - low <= 1e-9 * abs(high):  # bins narrower than rounding have no order
        low, high = low - 0.5, high + 0.5
    edges = (np.geomspace if low > 0 else np.linspace)(low, high, _BINS + 1)
    edges[[0, -1]] = low, high  # which rounding may have moved past the lowest or highest score
    counts = [np.histogram(side, edges)[0] for side in (own, stitched)]
    for place in zip(edges, edges[1:], *counts, strict=False):
        yield dict(zip(HEIGHTS, (name, *map(float, place[:2]), *map(int, place[2:])), strict=True))
