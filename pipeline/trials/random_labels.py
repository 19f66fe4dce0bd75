from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import Design, Finding, Material, Trial, lacks_twins, require, unknown
from pipeline.trials.orders import ordered


@final
@dataclass(frozen=True)
class RandomLabels(Trial):
    """Whether networks that learnt are more similar to each other than to those that had nothing to learn.

    These saw the same images under labels drawn at random (the dataset `noisy_labels`; Bansal et al. 2021), or were
    never trained. Of a pair that learnt and differs by chance alone, and a pair of which one learnt and the other did
    not, at the same cut, it is asked which is the more similar.
    """

    learnt: tuple[str, ...]  # models
    unlearnt: tuple[str, ...]
    orders: int  # of networks, from which the p-value is taken; all of them where there are fewer

    headings: ClassVar = {"pairs": "learnt more similar than unlearnt"}

    def __post_init__(self) -> None:
        for option, names in (("learnt", self.learnt), ("unlearnt", self.unlearnt)):
            require(bool(names), f"{option}: is empty; it should name at least one model")
        for name in set(self.learnt) & set(self.unlearnt):
            require(False, f"unlearnt: names {name}, as learnt does; it should name others")
        require(self.orders >= 100, f"orders: is {self.orders}; it should be 100 or more")

    def lacks(self, design: Design) -> Iterator[str]:
        yield from unknown("trials.random_labels.learnt", self.learnt, design)
        yield from unknown("trials.random_labels.unlearnt", self.unlearnt, design)
        yield from lacks_twins("random_labels", design, self.learnt)

    def run(self, material: Material) -> Iterator[Finding]:
        networks = [network for network in material.places if network[0] in (*self.learnt, *self.unlearnt)]
        near, far = np.zeros((2, len(networks), len(networks)), bool)
        for (i, one), (j, other) in combinations(enumerate(networks), 2):
            learnt = [network[0] in self.learnt for network in (one, other)]
            near[i, j], far[i, j] = all(learnt) and material.design.alike(one, other), any(learnt) and not all(learnt)
        for judged in material.judged:
            yield from ordered(material, judged, networks, "pairs", near, far, self.orders)
