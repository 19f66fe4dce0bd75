from dataclasses import dataclass
from typing import ClassVar, final

from pipeline.controls.linear import Linear
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class Probe(Linear):
    """A linear probe of the means over places: quick at every cut."""

    of: ClassVar[Whole] = "pooled"
