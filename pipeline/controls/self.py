from dataclasses import dataclass
from typing import final

from pipeline.arrays import Sender
from pipeline.controls.base import Control, Setting


@final
@dataclass(frozen=True)
class Self(Control):
    """The receiver as its own sender: what the kind of stitch costs where nothing differs."""

    def sender(self, setting: Setting) -> Sender:
        return setting.receiver
