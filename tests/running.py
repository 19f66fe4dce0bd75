"""Stages run in this process, as tests do that look at what they make."""

from pipeline.stages import audit
from pipeline.stages import cells as stage_cells


def forget() -> None:
    """What stages keep from one call to the next is of one study, and tests go from one to another."""
    stage_cells.forget()
    audit.receiver_spectrum.cache_clear()
