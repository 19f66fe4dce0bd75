"""The code of every stage, and of every index, listed for DVC to depend on."""

from collections.abc import Iterable

from pipeline import paths
from pipeline.atomic import write_text
from pipeline.imports import listing
from pipeline.registry import module_of
from pipeline.similarity import INDICES

STAGES = ("dataset", "plan", "train", "extract", "stitch", "detect", "control", "audit", "compare", "trial", "report")


def run(indices: Iterable[str]) -> None:
    """A listing's name is the index's in params, which several of one kind may have."""
    for stage in STAGES:
        write_text(paths.code(stage), listing(f"pipeline.stages.{stage}"))
    for name in indices:
        write_text(paths.index_code(name), listing(module_of(INDICES, name)))
