"""How stitched activations depart from the receiver's own: outwards, inwards, or in rank."""

from collections.abc import Iterable

import numpy as np
from pandas import DataFrame, Series

from pipeline.figures.style import words
from pipeline.figures.tables import groups, series
from pipeline.params import Verdicts

_OUTWARDS = "out of the receiver’s distribution"
_INWARDS = "nearer to the middle of the receiver’s distribution than its own"
PAIR = ["receiver", "objective", "sender", "sender_cut", "receiver_cut"]


def departures(cells: DataFrame, ranks: Iterable[str], detectors: Iterable[str], rules: Verdicts) -> DataFrame:
    """One row for each PAIR: outside, inside (detectors by name), other_rank (ranks by name), departs (all in words).

    A departure is one in every seed. Outside is where the whole interval of a detector's AUROC lies above
    `rules.auroc`, inside where it lies as far below a half: nearer to what the receiver mostly has than its own
    activations are. A rank is another where it is `rules.rank_ratio` times the receiver's own or more, or one part in
    as many or less.
    """
    rows = []
    for pair, found in groups(cells, *PAIR):
        outside = [name for name in detectors if (series(found, f"auroc_{name}_low") > rules.auroc).all()]
        inside = [name for name in detectors if (series(found, f"auroc_{name}_high") < 1 - rules.auroc).all()]
        other = [name for name in ranks if _differs(found, name, rules.rank_ratio)]
        said = [_told(_OUTWARDS, found, outside)] if outside else []
        said += [_told(_INWARDS, found, inside)] if inside else []
        said += [_ranked(found, name) for name in other]
        rows.append([*pair, " ".join(outside), " ".join(inside), " ".join(other), "; ".join(said)])
    return DataFrame(rows, columns=[*PAIR, "outside", "inside", "other_rank", "departs"])


def _differs(found: DataFrame, rank: str, factor: float) -> bool:
    stitched, own = (series(found, name).to_numpy(np.float64) for name in (rank, f"receiver_{rank}"))
    return bool((stitched >= factor * own).all() or (factor * stitched <= own).all()) and bool((stitched != own).all())


def _told(where: str, found: DataFrame, detectors: Iterable[str]) -> str:
    told = (f"{words(name)} (AUROC {_mean(series(found, f'auroc_{name}')):.2f})" for name in detectors)
    return f"{where} by {', '.join(told)}"


def _ranked(found: DataFrame, rank: str) -> str:
    stitched, own = (_mean(series(found, name)) for name in (rank, f"receiver_{rank}"))
    return f"{words(rank)} rank {stitched:.3g} against the receiver’s own {own:.3g}"


def _mean(values: Series) -> float:
    return float(values.to_numpy(np.float64).mean())
