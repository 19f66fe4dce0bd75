"""Which of two kinds of pairs of networks an index finds more similar, where the truth is known."""

from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.permuting import p_value
from pipeline.separation import auroc
from pipeline.trials.base import ALL, DIGITS, Finding, Judged, Material, Network

ABSENT = -1
Pairs = np.ndarray  # n × n, True for pairs (one, other) with one before the other


def ordered(
    material: Material, judged: Judged, networks: Sequence[Network], part: str, near: Pairs, far: Pairs, orders: int
) -> Iterator[Finding]:
    """The chance that one of the `near` pairs is more similar than one of the `far`, at the same cut; the mean of cuts.

    The p-value is by orders of the networks: how often as much is found where it does not matter which is which.
    """
    by_cut = dict(_tables(material, judged, networks, near | far))
    if not by_cut:
        return
    aurocs = {cut: auroc(table[far], table[near]) for cut, table in by_cut.items()}
    yield Finding(judged.index, part, ALL, "value", float(np.mean(list(aurocs.values()))))
    yield Finding(judged.index, part, ALL, "chance", 0.5)
    yield Finding(judged.index, part, ALL, "near", float(near.sum()))
    yield Finding(judged.index, part, ALL, "far", float(far.sum()))
    whole = {cut: table for cut, table in by_cut.items() if np.isfinite(table[~np.eye(len(table), dtype=bool)]).all()}
    if len(whole) == len(by_cut):  # what is not known of a pair cannot be put in its place
        tables = np.stack(list(whole.values()))
        p = p_value(lambda found: _means(tables, found, near, far), len(networks), orders)
        yield Finding(judged.index, part, ALL, "p", p)
    for cut, value in aurocs.items():
        yield Finding(judged.index, part, cut, "value", value)


def _means(tables: np.ndarray, orders: np.ndarray, near: Pairs, far: Pairs) -> np.ndarray:
    """The mean AUROC over cuts, of each order of the networks."""
    found = np.empty(len(orders))
    for number, order in enumerate(orders):
        moved = tables[:, order[:, None], order]
        difference = moved[:, near][:, :, None] - moved[:, far][:, None]
        found[number] = ((difference > 0).mean() + (difference >= 0).mean()) / 2
    return found


def _tables(
    material: Material, judged: Judged, networks: Sequence[Network], asked: Pairs
) -> Iterator[tuple[str, np.ndarray]]:
    """Of each cut that all have: networks × networks, both ways' mean, where all that is asked is known."""
    numbers = {(layer.model, layer.seed, layer.cut): number for number, layer in enumerate(material.layers)}
    for cut in dict.fromkeys(layer.cut for layer in material.layers):
        at = np.array([numbers.get((*network, cut), ABSENT) for network in networks])
        if (at != ABSENT).all():
            values = judged.values[at[:, None], at]
            table = np.round((values + values.T) / 2, DIGITS)
            if np.isfinite(table[asked]).all():
                yield cut, table
