from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import TIED, Design, Finding, Judged, Material, Network, Share, Trial, expect_interval, shares


@final
@dataclass(frozen=True)
class LayerMonotonicity(Trial):
    """Whether similarity falls as layers of one network get further apart (Klabunde et al. 2025).

    Of each layer and two others on the same side of it, whether the nearer is the more similar: s(i, j) > s(i, k) for
    i < j < k and for i > j > k. The share of these for which it holds, those of equal similarity counting half, so
    that what tells nothing of depth has a half.
    """

    confidence: float
    resamples: int

    headings: ClassVar = {"within": "nearer layers more similar"}

    def __post_init__(self) -> None:
        expect_interval(self.confidence, self.resamples)

    def lacks(self, design: Design) -> Iterator[str]:
        if all(len(cuts) < 3 for cuts in design.cuts.values()):
            yield "extract.cuts: gives no model three cuts, which trials.layer_monotonicity puts in order; add others"

    def run(self, material: Material) -> Iterator[Finding]:
        for judged in material.judged:
            found = [share for network in material.places for share in self._comparisons(material, judged, network)]
            yield from shares(judged.index, "within", found, self.confidence, self.resamples)

    def _comparisons(self, material: Material, judged: Judged, network: Network) -> Iterator[Share]:
        unit = "{}/{}".format(*network)
        for triple in combinations(material.places[network], 3):
            for i, j, k in (triple, triple[::-1]):
                difference = judged.values[i, j] - judged.values[i, k]
                if np.isfinite(difference):
                    held = 0.5 if abs(difference) <= TIED else float(difference > 0)
                    yield Share(unit, material.layers[i].cut, held, 1, 0.5)
