"""The contract of trials: from what indices say of a study's layers to how far each can be believed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from pipeline.arrays import Layer
from pipeline.randomness import generator

DIGITS = 9  # to which similarities are told apart: what is nearer is equal but for rounding
TIED = 10**-DIGITS
ACCURACY, RESIDUAL = "accuracy_", "residual_"  # before an objective: what its stitches say, as an index
ALL = "all"  # of a finding: over all cuts or networks
ENOUGH = 3  # units from which on there is an interval


Network = tuple[str, int]  # model and seed


@dataclass(frozen=True)
class Design:
    """What params tell of the networks there will be."""

    kinds: Mapping[str, str]  # what each model is but for its name; empty where every seed gives the same weights
    seeds: tuple[int, ...]
    cuts: Mapping[str, Mapping[str, int]]  # of each model, first to last, and how many features each has

    @property
    def twins(self) -> list[tuple[Network, Network]]:
        """Pairs of networks that differ by chance alone."""
        return [pair for pair in combinations(self.networks, 2) if self.alike(*pair)]

    @property
    def networks(self) -> list[Network]:
        return [(model, seed) for model in self.kinds for seed in self.seeds]

    def alike(self, one: Network, other: Network) -> bool:
        return one != other and self.kinds[one[0]] == self.kinds[other[0]] != ""


@dataclass(frozen=True)
class Judged:
    """What one index says of pairs of layers: from the row's to the column's, the larger the more similar.

    NaN where it says nothing: it does not define the pair, or no cell joins it.
    """

    index: str
    values: np.ndarray


class Truncations(NamedTuple):
    """One layer at several ranks, its width first: what a linear probe answers rightly, and what indices say."""

    ranks: tuple[int, ...]
    accuracies: np.ndarray
    judged: Sequence[Judged]


@dataclass(frozen=True)
class Material:
    """All that a trial may ask for."""

    design: Design
    layers: tuple[Layer, ...]  # of all networks, in the order of models, seeds and cuts
    judged: Sequence[Judged]  # every index on these; functional ones among them, where there are cells of all pairs
    probed: Callable[[Layer, float], float]  # the accuracy of a linear probe with so much decay
    truncated: Callable[[Layer, tuple[int, ...], float], Truncations]  # at these ranks; the probe's decay

    @cached_property
    def places(self) -> dict[Network, list[int]]:
        """Of each network, its layers' numbers, first to last."""
        found: dict[Network, list[int]] = {}
        for number, layer in enumerate(self.layers):
            found.setdefault((layer.model, layer.seed), []).append(number)
        return found


@dataclass(frozen=True)
class Finding:
    index: str
    part: str  # one of the trial's
    of: str  # all, or the cut, network or layer that it is of
    measure: str  # value, low, high, p, chance; or what else there is
    value: float


class Trial(ABC):
    """A variant's fields are its options."""

    headings: ClassVar[Mapping[str, str]]  # of each part that is shown; its `value` of all is

    @abstractmethod
    def lacks(self, design: Design) -> Iterator[str]:
        """What the study should have and has not, a line each, beginning with its place in params."""

    @abstractmethod
    def run(self, material: Material) -> Iterator[Finding]:
        """What is not defined is left out; an index of which nothing is said at all has no finding."""


@dataclass(frozen=True)
class Share:
    """How many of so many held, of one unit: one network, or one pair of them; and how many would by chance."""

    unit: str
    of: str
    held: float
    count: int
    chance: float


def shares(index: str, part: str, found: Sequence[Share], confidence: float, resamples: int) -> Iterator[Finding]:
    """Of all: value, low, high, chance, count; of each `of` but the interval. Intervals are over units."""
    if not found:
        return
    units: dict[str, np.ndarray] = {}
    for share in found:
        units[share.unit] = units.get(share.unit, 0) + np.array([share.held, share.count])
    held, counts = np.array(list(units.values())).T
    yield from _share(index, part, ALL, found)
    yield from interval(index, part, held, counts, confidence, resamples)
    for of in dict.fromkeys(share.of for share in found):
        yield from _share(index, part, of, [share for share in found if share.of == of])


def _share(index: str, part: str, of: str, found: Sequence[Share]) -> Iterator[Finding]:
    count = sum(share.count for share in found)
    yield Finding(index, part, of, "value", sum(share.held for share in found) / count)
    yield Finding(index, part, of, "chance", sum(share.chance for share in found) / count)
    yield Finding(index, part, of, "count", float(count))


def interval(
    index: str, part: str, totals: np.ndarray, counts: np.ndarray, confidence: float, resamples: int
) -> Iterator[Finding]:
    """low and high of Σ totals / Σ counts, by the percentile bootstrap over units; none for fewer than three."""
    if len(totals) < ENOUGH:
        return
    drawn = generator(0, "trial", len(totals)).integers(len(totals), size=(resamples, len(totals)))
    found = totals[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    yield Finding(index, part, ALL, "low", float(low))
    yield Finding(index, part, ALL, "high", float(high))


def expect_interval(confidence: float, resamples: int) -> None:
    require(0.5 <= confidence < 1, f"confidence: is {confidence:g}; it should be from 0.5 to below 1")
    require(resamples >= 100, f"resamples: is {resamples}; it should be 100 or more")


def require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def lacks_twins(name: str, design: Design, *groups: Sequence[str]) -> Iterator[str]:
    """Where no group of models has two networks that differ by chance alone; all models are one, if none is given."""
    there = [{one[0], other[0]} for one, other in design.twins]
    if not any(pair <= {*group} for pair in there for group in groups or [design.kinds]):
        of = f" of {', '.join(model for group in groups for model in group)}" if groups else ""
        yield (
            f"seeds: {list(design.seeds)} give no two networks{of} that differ by chance alone, which trials.{name} "
            "compares; it should name another seed of a model that is trained"
        )


def unknown(place: str, names: Iterable[str], design: Design) -> Iterator[str]:
    for name in names:
        if name not in design.kinds:
            yield f"{place}: names {name}, which is not defined in models; choose from {', '.join(design.kinds)}"
