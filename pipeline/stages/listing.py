"""The code of every stage, listed for DVC to depend on."""

from pipeline import paths
from pipeline.atomic import write_text
from pipeline.imports import listing

STAGES = ("dataset", "plan", "train", "extract", "stitch", "detect", "control", "audit", "compare", "trial", "report")


def run() -> None:
    for stage in STAGES:
        write_text(paths.code(stage), listing(f"pipeline.stages.{stage}"))
