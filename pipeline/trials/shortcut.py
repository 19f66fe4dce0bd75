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
    other. Of a near pair and a pair of two groups, at the same cut, it is asked which is the more similar. `twins` are
    near pairs of one group that differ by chance alone (a model's two seeds): an index that sees nothing but the data
    a network learnt from passes. `across` are near pairs of one group but of two models, which learnt the same thing
    from other data: it does not.
    """

    learnt: dict[str, tuple[str, ...]]  # by what there was to learn, the models that learnt it
    orders: int  # of networks, from which the p-value is taken; all of them where there are fewer

    headings: ClassVar = {
        "twins": "same model more similar than one that learnt something else",
        "across": "other model that learnt the same, more similar than one that learnt something else",
    }

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
        twins, across, far = np.zeros((3, len(networks), len(networks)), bool)
        for (i, one), (j, other) in combinations(enumerate(networks), 2):
            same, alike = groups[one[0]] == groups[other[0]], material.design.alike(one, other)
            twins[i, j], across[i, j], far[i, j] = same and alike, same and not alike, not same
        for judged in material.judged:
            for part, near in (("twins", twins), ("across", across)):
                if near.any():
                    yield from ordered(material, judged, networks, part, near, far, self.orders)

    def _groups(self) -> dict[str, str]:
        return {name: group for group, members in self.learnt.items() for name in members}
