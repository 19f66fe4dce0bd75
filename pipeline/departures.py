"""How stitched activations depart from the receiver's own: out of their distribution, or of another rank."""

from collections.abc import Iterable

import numpy as np
from pandas import DataFrame

from pipeline.figures.style import words
from pipeline.figures.tables import groups, series
from pipeline.params import Verdicts

PAIR = ["receiver", "objective", "sender", "sender_cut", "receiver_cut"]


def departures(cells: DataFrame, ranks: Iterable[str], detectors: Iterable[str], rules: Verdicts) -> DataFrame:
    """One row for each PAIR: outside (detectors by name), other_rank (ranks by name), departs (both in words).

    A departure is one in every seed. Outside is where the whole interval of a detector's AUROC lies above
    `rules.auroc`; a rank is another where it is more than `rules.rank_ratio` times the receiver's own, or less than
    one part in as many.
    """
    rows = []
    for pair, found in groups(cells, *PAIR):
        outside = [name for name in detectors if (series(found, f"auroc_{name}_low") > rules.auroc).all()]
        ratios = {name: _ratios(found, name) for name in ranks}
        other = [name for name, ratio in ratios.items() if _differs(ratio, rules.rank_ratio)]
        said = [_outside(found, outside)] if outside else []
        said += [f"{words(name)} rank {ratios[name].mean():.2f} times the receiver’s own" for name in other]
        rows.append([*pair, " ".join(outside), " ".join(other), "; ".join(said)])
    return DataFrame(rows, columns=[*PAIR, "outside", "other_rank", "departs"])


def _ratios(found: DataFrame, rank: str) -> np.ndarray:
    return (series(found, rank) / series(found, f"receiver_{rank}")).to_numpy(np.float64)


def _differs(ratios: np.ndarray, factor: float) -> bool:
    return bool((ratios > factor).all() or (ratios < 1 / factor).all())


def _outside(found: DataFrame, detectors: Iterable[str]) -> str:
    told = (f"{words(name)} (AUROC {series(found, f'auroc_{name}').mean():.2f})" for name in detectors)
    return f"out of the receiver’s distribution by {', '.join(told)}"
