from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from pipeline.trials.agreement import agreement, expect_probe
from pipeline.trials.base import ALL, Design, Finding, Judged, Material, Trial, lacks_twins


@final
@dataclass(frozen=True)
class Specificity(Trial):
    """Whether an index heeds what a layer is good for and not which network it is of (Balogh & Jelasity 2025, table 3).

    All layers of all networks that differ by chance alone are held against the one whose linear probe does best: what
    theirs do worse is set against what the index says of the two. Kendall's τ and Spearman's ρ are of one model; their
    means are over models, and so is the p-value: the largest.
    """

    decay: float  # of the probe
    itself: bool  # whether the layer that is best is held against itself too, as in the paper

    headings: ClassVar = {"kendall": "specificity over seeds, Kendall’s τ", "spearman": "Spearman’s ρ"}

    def __post_init__(self) -> None:
        expect_probe(self.decay)

    def lacks(self, design: Design) -> Iterator[str]:
        yield from lacks_twins("specificity", design)

    def run(self, material: Material) -> Iterator[Finding]:
        kinds = self._kinds(material)
        accuracies = {
            number: material.probed(material.layers[number], self.decay) for at in kinds.values() for number in at
        }
        for judged in material.judged:
            found = [
                finding
                for name, at in kinds.items()
                for finding in self._of(judged, name, at, np.array([accuracies[number] for number in at]))
            ]
            yield from found
            for name in ("kendall", "spearman") if found else ():
                yield from self._over_all(judged.index, name, found)

    def _kinds(self, material: Material) -> dict[str, list[int]]:
        """The layers of networks that differ by chance alone, by the models that these are of."""
        networks = {network for pair in material.design.twins for network in pair}
        found: dict[str, list[int]] = {}
        for network, numbers in material.places.items():
            if network in networks:
                found.setdefault(material.design.kinds[network[0]], []).extend(numbers)
        return {" ".join(dict.fromkeys(material.layers[number].model for number in at)): at for at in found.values()}

    def _of(self, judged: Judged, name: str, at: list[int], accuracies: np.ndarray) -> Iterator[Finding]:
        values = judged.values[np.ix_(at, at)]
        yield from agreement(judged.index, "model", name, accuracies, values, self.itself)

    def _over_all(self, index: str, name: str, found: list[Finding]) -> Iterator[Finding]:
        values, p_values = ([f.value for f in found if f.measure == measure] for measure in (name, f"{name}_p"))
        yield Finding(index, name, ALL, "value", float(np.mean(values)))
        yield Finding(index, name, ALL, "p", max(p_values))
        yield Finding(index, name, ALL, "count", float(len(values)))
        if not self.itself:
            yield Finding(index, name, ALL, "chance", 0.0)
