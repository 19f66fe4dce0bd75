"""What a cell's numbers together allow one to say; docs/verdicts.md explains the rules by example.

A verdict is on cells that differ in their seed alone. Their accuracy is held against each baseline, seed by
seed: a difference, and an interval for its mean. With one seed the interval is over test images instead.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy import stats

from pipeline.departures import PAIR
from pipeline.figures.tables import chosen, groups, series
from pipeline.naming import kind_of
from pipeline.params import Verdicts

OWN_SPREAD = 5  # seeds from which on each cell's own spread is known well enough

# What a cell is held against, by its column in the table of cells, and how the page calls it.
BASELINES = {
    "unstitched": "the receiver, unstitched, on the data it is stitched towards",
    "own": "the receiver, unstitched, on its own data",
    "recalibrated": "the receiver, unstitched, its BatchNorms recalibrated on that data",
    "self": "the receiver stitched into itself",
    "random": "an untrained network stitched into the receiver",
    "noise": "clustered noise stitched into the receiver",
    "probe": "a linear probe of the sender’s activations",
    "whole_probe": "a linear probe of all numbers of the sender’s activations",
}
SHORT = {  # all but the first, on which the verdict rests
    "own": "receiver on its own data",
    "recalibrated": "receiver recalibrated",
    "self": "self-stitch",
    "random": "untrained sender",
    "noise": "noise",
    "probe": "linear probe",
    "whole_probe": "linear probe of all numbers",
}
# Those that do without what the sender learnt, or without the receiver. Probes learn from labels, and say nothing of
# a stitch that was found without them.
_UNLABELLED = ("random", "noise")
EMPTY = (*_UNLABELLED, "probe", "whole_probe")

NOT, OPEN, UNINFORMATIVE, FOREIGN, COMPATIBLE = "not compatible", "open", "uninformative", "foreign", "compatible"
MEANINGS = {
    COMPATIBLE: "reaches the receiver’s own accuracy, and is better than every empty control; none of the study’s "
    "detectors and ranks finds its activations to depart from the receiver’s own",
    FOREIGN: "reaches the receiver’s own accuracy, and is better than every empty control, but its activations depart "
    "from the receiver’s own",
    UNINFORMATIVE: "reaches the receiver’s own accuracy, and an empty control does as well as it",
    OPEN: "too few seeds or images to tell whether it reaches the receiver’s own accuracy",
    NOT: "stays below the receiver’s own accuracy",
}


UNCONTROLLED = "there is no empty control to hold it against, or too little to tell whether it reaches the receiver"


def baselines(columns: Iterable[str]) -> list[str]:
    """Those of the columns that cells are held against, in the order of BASELINES; `noise-wide` is a `noise`."""
    there = list(columns)
    return [name for kind in BASELINES for name in there if kind_of(name) == kind]


def called(name: str, words: Mapping[str, str] = BASELINES) -> str:
    """A baseline in words, with what tells it from others of its kind."""
    kind = kind_of(name)
    return words[kind] if name == kind else f"{words[kind]} ({name.removeprefix(kind)[1:]})"


def comparisons(cells: DataFrame, rules: Verdicts) -> DataFrame:
    """A row for each baseline there is: accuracy, of_baseline, difference, low, high, outcome."""
    found = [row for baseline in baselines(cells) for row in _against(cells, baseline, rules)]
    order = {pair: place for place, (pair, _) in enumerate(groups(cells, *PAIR))}
    found.sort(key=lambda row: order[tuple(row[key] for key in PAIR)])
    return DataFrame(found, columns=[*PAIR, "labelled", "baseline", *_NUMBERS, "outcome"])


_NUMBERS = ["accuracy", "of_baseline", "difference", "low", "high"]


def _against(cells: DataFrame, baseline: str, rules: Verdicts) -> Iterator[dict[str, Any]]:
    """Cells into one cut by one objective share their spread, where there are too few seeds for each its own.

    They share it as an angle, for shares have less room to spread near 0 and 1.
    """
    there = chosen(cells, series(cells, baseline).notna())
    for _, block in groups(there, "receiver", "receiver_cut", "objective"):
        rows = dict(groups(block, *PAIR))
        turned = {pair: _angles(found, "accuracy") - _angles(found, baseline) for pair, found in rows.items()}
        shared = sum(float(((each - each.mean()) ** 2).sum()) for each in turned.values())
        freedom = sum(len(each) - 1 for each in turned.values())
        for pair, angles in turned.items():
            one, other = _values(rows[pair], "accuracy"), _values(rows[pair], baseline)
            each = one - other
            if len(each) == 1:
                counts = _values(rows[pair], "samples")[0], _values(rows[pair], _samples(baseline, cells))[0]
                low, high = newcombe(float(one[0]), float(counts[0]), float(other[0]), float(counts[1]), rules)
            elif len(each) < OWN_SPREAD:
                half = _student(angles, shared / freedom, freedom, rules)
                low, high = (turned_by(float(one.mean()), end) - float(other.mean()) for end in (-half, half))
            else:
                half = _student(each, float(each.var(ddof=1)), len(each) - 1, rules)
                low, high = float(each.mean()) - half, float(each.mean()) + half
            numbers = [one.mean(), other.mean(), each.mean(), low, high]
            yield {
                **dict(zip(PAIR, pair, strict=True)),
                "labelled": _values(rows[pair], "labelled")[0],
                "baseline": baseline,
                **dict(zip(_NUMBERS, map(float, numbers), strict=True)),
                "outcome": outcome(low, high, rules.margin),
            }


def _samples(baseline: str, cells: DataFrame) -> str:
    """The column of how many images a baseline was tested on."""
    own = f"{'unstitched' if baseline == 'recalibrated' else baseline}_samples"
    return own if own in cells else "samples"  # a probe's are the cell's


def _values(rows: DataFrame, column: str) -> np.ndarray:
    return series(rows, column).to_numpy(np.float64)


def _angles(rows: DataFrame, column: str) -> np.ndarray:
    """Of shares, on a scale that leaves them room near 0 and 1, where what is drawn spreads alike (Bartlett 1936)."""
    return np.arcsin(np.sqrt(_values(rows, column)))


def turned_by(share: float, angle: float) -> float:
    """The share at an angle from another, and none beyond 0 and 1."""
    return math.sin(min(max(math.asin(math.sqrt(share)) + angle, 0), math.pi / 2)) ** 2


def _student(values: np.ndarray, variance: float, freedom: int, rules: Verdicts) -> float:
    """Half the interval of the mean."""
    return float(stats.t.ppf((1 + rules.confidence) / 2, freedom)) * math.sqrt(variance / len(values))


def newcombe(one: float, ones: float, other: float, others: float, rules: Verdicts) -> tuple[float, float]:
    """Of a difference of two shares, of `ones` and of `others` samples (Newcombe 1998, method 10).

    As if they were drawn independently: where both are of the same images, the truth is narrower.
    """
    z = float(stats.norm.ppf((1 + rules.confidence) / 2))
    (low_one, high_one), (low_other, high_other) = _wilson(one, ones, z), _wilson(other, others, z)
    low = one - other - math.hypot(one - low_one, high_other - other)
    return low, one - other + math.hypot(high_one - one, other - low_other)


def _wilson(share: float, samples: float, z: float) -> tuple[float, float]:
    centre, weight = (share + z * z / (2 * samples)), 1 + z * z / samples
    half = z * math.sqrt(share * (1 - share) / samples + (z / (2 * samples)) ** 2)
    return (centre - half) / weight, (centre + half) / weight


def outcome(low: float, high: float, margin: float) -> str:
    """Of an interval of differences: above, reaches, below or open; a difference within the margin is none."""
    if low > margin:
        return "above"
    if low >= -margin:
        return "reaches"
    return "below" if high < -margin else OPEN


def verdicts(held: DataFrame, departed: DataFrame, margin: float) -> DataFrame:
    """One row for each PAIR: verdict, as_well (the empty controls that do as well), by_recalibration, words.

    Then the columns of `departed`, which has a row for each PAIR too.
    """
    departs = {pair: str(found["departs"].iloc[0]) for pair, found in groups(departed, *PAIR)}
    rows = []
    for pair, found in groups(held, *PAIR):
        by: dict[Any, dict[Any, Any]] = found.set_index("baseline").to_dict("index")
        labelled = bool(found["labelled"].iloc[0])
        empty = {name: by[name] for name in baselines(by) if kind_of(name) in (EMPTY if labelled else _UNLABELLED)}
        as_well = [name for name, against in empty.items() if against["high"] <= margin]
        unsure = [name for name, against in empty.items() if against["low"] <= margin < against["high"]]
        share = by_recalibration(by)
        verdict = _verdict(by["unstitched"]["outcome"], as_well, unsure, bool(empty), bool(departs[pair]))
        reached = by["unstitched"]["outcome"] in ("reaches", "above")
        text = UNCONTROLLED
        if empty or verdict != OPEN:
            text = _words(verdict, reached, as_well, unsure, share, departs[pair])
        rows.append([*pair, verdict, " ".join(as_well), share, text])
    table = DataFrame(rows, columns=[*PAIR, "verdict", "as_well", "by_recalibration", "words"])
    table = table.astype({"by_recalibration": float})  # empty where there is no gain
    return table.merge(departed, how="left", validate="one_to_one")


def _verdict(against_receiver: str, as_well: list[str], unsure: list[str], controlled: bool, departs: bool) -> str:
    if against_receiver in ("below", OPEN):
        return NOT if against_receiver == "below" else OPEN
    if as_well:
        return UNINFORMATIVE
    if unsure or not controlled:
        return OPEN
    return FOREIGN if departs else COMPATIBLE


def by_recalibration(by: dict[Any, dict[Any, Any]]) -> float | None:
    """What recalibrating its BatchNorms brings the unstitched receiver, as a share of the stitch's gain over it.

    Above 1 where recalibration alone does better than the stitch; None where the interval tells no gain from none.
    """
    if "recalibrated" not in by or by["unstitched"]["low"] <= 0:
        return None
    brought = by["recalibrated"]["of_baseline"] - by["unstitched"]["of_baseline"]
    return max(0.0, brought / by["unstitched"]["difference"])


def _words(
    verdict: str, reached: bool, as_well: list[str], unsure: list[str], share: float | None, departs: str
) -> str:
    said = [MEANINGS[verdict]]
    if verdict == UNINFORMATIVE:
        said = [f"{said[0]}: {', '.join(map(called, as_well))}"]
    if verdict == OPEN and unsure and reached:
        said = [f"cannot be told from {', '.join(map(called, unsure))}"]
    if departs:
        said.append(departs)
    if share:
        said.append(f"recalibrating BatchNorm alone brings {100 * share:.0f} % of the gain")
    return "; ".join(said)
