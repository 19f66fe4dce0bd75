from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import (
    TIED,
    Design,
    Finding,
    Judged,
    Material,
    Network,
    Share,
    Trial,
    expect_interval,
    lacks_twins,
    shares,
)


@final
@dataclass(frozen=True)
class LayerIdentification(Trial):
    """Whether the most similar layer is the one at the same place (Kornblith et al. 2019; Balogh & Jelasity 2025).

    `between`: of each layer of a network, among the layers of another that differs from it by chance alone. `within`:
    among the layers of its own network, itself too. A layer is the row's: what is not symmetric is asked for the
    layer that it is most easily taken to. Where several are equally similar, the right one among them counts its
    part.
    """

    confidence: float
    resamples: int

    headings: ClassVar = {
        "between": "layers identified, between networks",
        "within": "layers identified, within a network",
    }

    def __post_init__(self) -> None:
        expect_interval(self.confidence, self.resamples)

    def lacks(self, design: Design) -> Iterator[str]:
        yield from lacks_twins("layer_identification", design)
        if all(len(cuts) < 2 for cuts in design.cuts.values()):
            yield "extract.cuts: gives no model two cuts, which trials.layer_identification tells apart; add others"

    def run(self, material: Material) -> Iterator[Finding]:
        networks = list(material.places)
        for judged in material.judged:
            parts: dict[str, list[Share]] = {"between": [], "within": []}
            for one, other in product(networks, networks):
                if one == other:
                    parts["within"] += self._decisions(material, judged, one, other)
                elif material.design.alike(one, other):
                    parts["between"] += self._decisions(material, judged, one, other)
            for part, found in parts.items():
                yield from shares(judged.index, part, found, self.confidence, self.resamples)

    def _decisions(self, material: Material, judged: Judged, one: Network, other: Network) -> Iterator[Share]:
        """One a layer of `one` that can be mistaken."""
        candidates = material.places[other]
        cuts = [material.layers[number].cut for number in candidates]
        unit = " and ".join(f"{model}/{seed}" for model, seed in sorted({one, other}))
        for number in material.places[one]:
            layer, values = material.layers[number], judged.values[number, candidates]
            right = values[cuts.index(layer.cut)]
            there = int(np.isfinite(values).sum())
            if np.isfinite(right) and there > 1:
                tied = values >= np.nanmax(values) - TIED
                held = 1 / tied.sum() if tied[cuts.index(layer.cut)] else 0.0
                yield Share(unit, layer.cut, held, 1, 1 / there)
