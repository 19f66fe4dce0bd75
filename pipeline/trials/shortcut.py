from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import Design, Finding, Material, Trial, lacks_twins, require, unknown
from pipeline.trials.orders import ordered


@final
@dataclass(frozen=True)
class Shortcut(Trial):
    """Whether networks that learnt the same are more similar than networks that learnt something else.

    Known where data were made so that it is: of colour and digit, networks that learnt by one know nothing of the
    other. Of a pair of one group that differs by chance alone (a model's two seeds) and a pair of two groups, at the
    same cut, it is asked which is the more similar.
    """

    learnt: dict[str, tuple[str, ...]]  # by what there was to learn, the models that learnt it
    orders: int  # of networks, from which the p-value is taken; all of them where there are fewer

    headings: ClassVar = {"pairs": "same learnt more similar than other learnt"}

    def __post_init__(self) -> None:
        require(len(self.learnt) > 1, f"learnt: names {len(self.learnt)} groups of models; it should name 2 or more")
        names = [name for group in self.learnt.values() for name in group]
        for name in names:
            require(names.count(name) == 1, f"learnt: names {name} twice; it should name each model once")
        for group, members in self.learnt.items():
            require(bool(members), f"learnt.{group}: is empty; it should name at least one model")
        require(self.orders >= 100, f"orders: is {self.orders}; it should be 100 or more")

    def lacks(self, design: Design) -> Iterator[str]:
        for group, members in self.learnt.items():
            yield from unknown(f"trials.shortcut.learnt.{group}", members, design)
        yield from lacks_twins("shortcut", design, *self.learnt.values())

    def run(self, material: Material) -> Iterator[Finding]:
        groups = self._groups()
        networks = [network for network in material.places if network[0] in groups]
        near, far = np.zeros((2, len(networks), len(networks)), bool)
        for (i, one), (j, other) in combinations(enumerate(networks), 2):
            same = groups[one[0]] == groups[other[0]]
            near[i, j], far[i, j] = same and material.design.alike(one, other), not same
        for judged in material.judged:
            yield from ordered(material, judged, networks, near, far, self.orders)

    def _groups(self) -> dict[str, str]:
        return {name: group for group, members in self.learnt.items() for name in members}
