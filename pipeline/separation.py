"""How well scores tell what lies outside a distribution from what lies inside it.

Everywhere here the positives are the samples that should look out of distribution, `outside`, and a larger score says
"more out of distribution". An AUROC of 1 is: all outside; 0.5: not to be told from the inside; below 0.5: they look
more typical than the inside itself, which is a finding and is never folded away.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64

from pipeline.randomness import generator

Scores = Float64[np.ndarray, " _"]  # of either side, however many
Counts = Int64[np.ndarray, " V"]
Precision = Literal["average", "trapezoid"]

_DRAWN = 2**22  # samples of resamples that are held at a time


def auroc(inside: Scores, outside: Scores) -> float:
    """The chance that an outside sample scores above an inside one, ties counting half."""
    _refuse(inside, outside)
    below, upto = _places(inside, outside)
    return int(below.sum() + upto.sum()) / (2 * len(inside) * len(outside))


def auprc(inside: Scores, outside: Scores, form: Precision) -> float:
    """The area under precision over recall, the outside being what is to be found.

    `average` is the average precision, a sum of steps: each threshold's precision times the recall it adds.
    `trapezoid` joins the points of all thresholds, and (0, 1) before them, by straight lines, as OpenOOD does. Samples
    of one score are one threshold. Either depends on how many samples each side has: guessing gives outside / all.
    """
    _refuse(inside, outside)
    false, true = _found(inside, outside)
    precision, recall = true / (true + false), true / len(outside)
    added = np.diff(recall, prepend=0.0)
    if form == "average":
        return float(added @ precision)
    before = np.concatenate([[1.0], precision[:-1]])
    return float(added @ (precision + before) / 2)


def fpr_at(inside: Scores, outside: Scores, tpr: float) -> float:
    """The part of the inside that is taken for outside where at least `tpr` of the outside is found.

    The threshold is the highest such score; between two scores nothing is interpolated.
    """
    _refuse(inside, outside)
    if not 0 < tpr <= 1:
        raise ValueError(f"tpr: is {tpr:g}; it should be above 0, up to 1")
    false, true = _found(inside, outside)
    return int(false[np.argmax(true / len(outside) >= tpr)]) / len(inside)


def auroc_interval(
    inside: Scores, outside: Scores, confidence: float, resamples: int, seed: int, paired: bool = False
) -> tuple[float, float]:
    """The percentile bootstrap interval of the AUROC; each side is resampled by itself, to its own size.

    `paired` are scores of the same samples, one after another on both sides: these are drawn together.
    """
    _refuse(inside, outside)
    if paired and len(inside) != len(outside):
        raise ValueError(f"paired: is of {len(inside)} and {len(outside)} scores; it should be of as many on each side")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: is {confidence:g}; it should be above 0 and below 1")
    if resamples < 1:
        raise ValueError(f"resamples: is {resamples}; it should be 1 or more")
    found = _resampled(inside, outside, resamples, generator(seed, "bootstrap"), paired)
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _resampled(
    inside: Scores, outside: Scores, resamples: int, random: np.random.Generator, paired: bool
) -> np.ndarray:
    """AUROCs of resamples. How often each sample is drawn is enough: the order of scores stays what it was."""
    below, upto = _places(inside, outside)
    order = np.argsort(inside, kind="stable")
    size = max(1, _DRAWN // (len(inside) + len(outside)))
    parts = []
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        ones = _draws(random, count, len(inside))
        others = ones if paired else _draws(random, count, len(outside))
        drawn = np.zeros((count, len(inside) + 1), np.int64)  # of the inside, how many among the lowest so many
        np.cumsum(ones[:, order], 1, out=drawn[:, 1:])
        parts.append(((drawn[:, below] + drawn[:, upto]) * others).sum(1))
    return np.concatenate(parts) / (2 * len(inside) * len(outside))


def _draws(random: np.random.Generator, resamples: int, samples: int) -> np.ndarray:
    """How often each of the samples is in each of the resamples."""
    numbers = random.integers(samples, size=(resamples, samples))
    numbers += samples * np.arange(resamples)[:, None]
    return np.bincount(numbers.ravel(), minlength=resamples * samples).reshape(resamples, samples)


def _places(inside: Scores, outside: Scores) -> tuple[np.ndarray, np.ndarray]:
    """For each outside sample, how many inside ones are below it, and how many are not above."""
    ordered = np.sort(inside)
    return np.searchsorted(ordered, outside, "left"), np.searchsorted(ordered, outside, "right")


def _found(inside: Scores, outside: Scores) -> tuple[Counts, Counts]:
    """How many of either side score at least so much, for each score there is from the highest down."""
    scores = np.unique(np.concatenate([inside, outside]))[::-1]
    return _at_least(inside, scores), _at_least(outside, scores)


def _at_least(side: Scores, scores: Scores) -> Counts:
    return len(side) - np.searchsorted(np.sort(side), scores, "left")


def _refuse(inside: Scores, outside: Scores) -> None:
    for name, scores in (("inside", inside), ("outside", outside)):
        if not len(scores):
            raise ValueError(f"{name}: has no scores; it should have at least one")
        if not np.isfinite(scores).all():
            raise ValueError(f"{name}: has {np.count_nonzero(~np.isfinite(scores))} scores that are not finite numbers")
