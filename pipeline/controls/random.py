from dataclasses import dataclass
from typing import final

from pipeline.arrays import Sender
from pipeline.controls.base import Control, Setting


@final
@dataclass(frozen=True)
class Random(Control):
    """A network of the receiver's architecture that learnt nothing: what its first, random features are good for."""

    def sender(self, setting: Setting) -> Sender:
        return setting.untrained()
