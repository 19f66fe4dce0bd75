from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import (
    TIED,
    Design,
    Finding,
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
    layer that it is most easily taken to. `between_columns` and `within_columns` are of the column's: which layer is
    most easily taken to it. Where several are equally similar, the right one among them counts its part.
    """

    confidence: float
    resamples: int

    headings: ClassVar = {
        "between": "layers identified, between networks",
        "between_columns": "layers identified, between networks, asked the other way",
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
            for axis, values in (("", judged.values), ("_columns", judged.values.T)):
                parts: dict[str, list[Share]] = {f"between{axis}": [], f"within{axis}": []}
                for one, other in product(networks, networks):
                    if one == other:
                        parts[f"within{axis}"] += self._decisions(material, values, one, other)
                    elif material.design.alike(one, other):
                        parts[f"between{axis}"] += self._decisions(material, values, one, other)
                for part, found in parts.items():
                    yield from shares(judged.index, part, found, self.confidence, self.resamples)

    def _decisions(self, material: Material, values: np.ndarray, one: Network, other: Network) -> Iterator[Share]:
        """One a layer of `one` that can be mistaken."""
        candidates = material.places[other]
        cuts = [material.layers[number].cut for number in candidates]
        unit = " and ".join(f"{model}/{seed}" for model, seed in sorted({one, other}))
        for number in material.places[one]:
            layer, said = material.layers[number], values[number, candidates]
            right = said[cuts.index(layer.cut)]
            there = int(np.isfinite(said).sum())
            if np.isfinite(right) and there > 1:
                tied = said >= np.nanmax(said) - TIED
                held = 1 / tied.sum() if tied[cuts.index(layer.cut)] else 0.0
                yield Share(unit, layer.cut, held, 1, 1 / there)
