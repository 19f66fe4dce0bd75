"""Every error raised on purpose.

PipelineError
├── ParamsError      params.yaml says something that cannot be meant
├── DataError        raw or prepared data are missing or not what they should be
├── ModelError       a model cannot be built, loaded, traced or cut as asked
├── StoreError       an activation store is damaged, incomplete or someone else's
├── ResourceError    disk, memory or device will not do
└── TrainingError    training left the numbers

Messages read ``where: what is wrong; what would be right``, a line for each thing that is wrong. The command line
prints them without a traceback and exits with 2; any other exception is a bug and keeps its traceback.
"""

import difflib
from collections.abc import Iterable


class PipelineError(Exception):
    """Base of every error that is the input's fault and not ours."""

    def __str__(self) -> str:
        # Notes carry where in a long run it happened (model, layer, batch).
        return " | ".join([super().__str__(), *getattr(self, "__notes__", [])])


class ParamsError(PipelineError):
    pass


class DataError(PipelineError):
    pass


class ModelError(PipelineError):
    pass


class StoreError(PipelineError):
    pass


class ResourceError(PipelineError):
    pass


class TrainingError(PipelineError):
    pass


def near(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that `name` may have been meant for."""
    return difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)


def choices(name: str, known: Iterable[str]) -> str:
    """'did you mean …' with the nearest known names, or all of them when none is near."""
    names = sorted(known)
    if nearest := near(name, names):
        return f"did you mean {' or '.join(nearest)}?"
    return f"choose from {', '.join(names)}" if names else "there are none to choose from"
