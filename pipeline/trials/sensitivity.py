from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, final

import numpy as np

from pipeline.errors import DataError, choices
from pipeline.trials.agreement import agreement, expect_probe, least
from pipeline.trials.base import (
    ALL,
    DIGITS,
    Design,
    Finding,
    Layer,
    Material,
    Trial,
    Truncations,
    expect_interval,
    interval,
    require,
)


@final
@dataclass(frozen=True)
class Sensitivity(Trial):
    """Whether an index sees what a low-rank truncation takes from a linear probe (Balogh & Jelasity 2025, table 2).

    A layer is seen at several ranks, in its first principal directions; what a probe loses by that is set against
    what the index says of the two. Kendall's τ and Spearman's ρ are of one layer over its ranks; their means are over
    layers.
    """

    cuts: tuple[str, ...] | None  # null for all
    ranks: tuple[int, ...]  # and the layer's width; those that are not below that are left out
    decay: float  # of the probe
    itself: bool  # whether the layer that is best is held against itself too, as in the paper
    confidence: float
    resamples: int

    headings: ClassVar = {"kendall": "sensitivity to truncation, Kendall’s τ", "spearman": "Spearman’s ρ"}

    def __post_init__(self) -> None:
        expect_interval(self.confidence, self.resamples)
        expect_probe(self.decay)
        require(self.cuts != (), "cuts: is empty; it should name at least one, or be null for all")
        rising = sorted(set(self.ranks))
        require(
            len(rising) > 2 - self.itself and len(rising) == len(self.ranks) and rising[0] > 0,
            f"ranks: are {list(self.ranks)}; they should be {3 - self.itself} or more different ones, each 1 or more",
        )

    def lacks(self, design: Design) -> Iterator[str]:
        known = list(dict.fromkeys(cut for cuts in design.cuts.values() for cut in cuts))
        for cut in self.cuts or ():
            if cut not in known:
                yield f"trials.sensitivity.cuts: names {cut}, which no model is cut at; {choices(cut, known)}"
        widths = {place for cuts in design.cuts.values() for place in cuts.items() if place[0] in (self.cuts or known)}
        for cut, width in sorted(widths):
            lower = sum(rank < width for rank in self.ranks)
            if lower < 3 - self.itself:
                yield (
                    f"trials.sensitivity.ranks: has {lower} below the {width} features of {cut}; it should have "
                    f"{3 - self.itself} or more, or cuts should leave it out"
                )

    def run(self, material: Material) -> Iterator[Finding]:
        asked = {layer.cut for layer in material.layers}
        for cut in set(self.cuts or ()) - asked:
            raise DataError(
                f"trials.sensitivity.cuts: {cut} holds the very numbers of an earlier cut in all networks; it should "
                f"be left out, or be another: {', '.join(sorted(asked))}"
            )
        found: dict[str, dict[str, dict[str, list[float]]]] = {}  # by index, measure and network
        for layer in material.layers:
            if self.cuts is None or layer.cut in self.cuts:
                truncations = material.truncated(layer, self.ranks, self.decay)
                yield from self._each(layer, truncations)
                for finding in self._correlations(layer, truncations):
                    yield finding
                    networks = found.setdefault(finding.index, {}).setdefault(finding.measure, {})
                    networks.setdefault(f"{layer.model}/{layer.seed}", []).append(finding.value)
        for index, measures in found.items():
            for name in ("kendall", "spearman"):
                yield from self._over_all(index, name, list(measures[name].values()))

    def _each(self, layer: Layer, truncations: Truncations) -> Iterator[Finding]:
        """Of each truncation: accuracy lost against the best, and similarity to it, the larger the more similar."""
        best = int(np.argmax(truncations.accuracies))
        for judged, (place, rank) in product(truncations.judged, enumerate(truncations.ranks)):
            of = "/".join(map(str, (*layer, rank)))
            lost = truncations.accuracies[best] - truncations.accuracies[place]
            similarity = least(judged.values, best)[place]
            if np.isfinite(similarity):
                yield Finding(judged.index, "truncation", of, "lost", float(lost))
                yield Finding(judged.index, "truncation", of, "similarity", round(float(similarity), DIGITS))

    def _correlations(self, layer: Layer, truncations: Truncations) -> Iterator[Finding]:
        where = "/".join(map(str, layer))
        for judged in truncations.judged:
            yield from agreement(judged.index, "layer", where, truncations.accuracies, judged.values, self.itself)

    def _over_all(self, index: str, name: str, networks: list[list[float]]) -> Iterator[Finding]:
        totals, counts = (np.array([float(of(values)) for values in networks]) for of in (sum, len))
        yield Finding(index, name, ALL, "value", float(totals.sum() / counts.sum()))
        yield Finding(index, name, ALL, "count", float(counts.sum()))
        if not self.itself:
            yield Finding(index, name, ALL, "chance", 0.0)
        yield from interval(index, name, totals, counts, self.confidence, self.resamples)
