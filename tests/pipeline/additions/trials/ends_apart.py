from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from pipeline.trials.base import ALL, Design, Finding, Material, Trial


@final
@dataclass(frozen=True)
class EndsApart(Trial):
    """The share of networks of which no two layers are less similar than the first and the last."""

    headings: ClassVar = {"within": "ends least similar"}

    def lacks(self, design: Design) -> Iterator[str]:
        yield from ()

    def run(self, material: Material) -> Iterator[Finding]:
        for judged in material.judged:
            tables = [judged.values[np.ix_(at, at)] for at in material.places.values()]
            held = [table[0, -1] <= table.min() for table in tables if np.isfinite(table).all()]
            if held:
                yield Finding(judged.index, "within", ALL, "value", float(np.mean(held)))
