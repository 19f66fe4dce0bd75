from dataclasses import dataclass
from typing import ClassVar, final

from pipeline.controls.linear import Linear
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class WholeProbe(Linear):
    """A linear probe of every number of the activations, as in Smith et al. 2025, Appendix G: early cuts have many."""

    of: ClassVar[Whole] = "flattened"
