"""dvc.yaml names all the code that its stages run, and the artefacts where `paths` puts them."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.imports import PACKAGE, closure

TOP = PACKAGE.parent
STAGES = YAML(typ="safe").load(TOP / "dvc.yaml")["stages"]
# A stage that takes a variant from a plan depends on that variant's code through the plan.
PLANNED = {"train": {"pipeline/models"}, "extract": {"pipeline/models"}}


def definition(stage: str) -> dict:
    return STAGES[stage].get("do", STAGES[stage])


def listed(stage: str) -> set[str]:
    return {dep.removeprefix("${root}/") for dep in definition(stage)["deps"] if dep.startswith("${root}/")}


def imported(stage: str) -> set[str]:
    """The files that the stage's module imports; a family's table decides nothing by itself."""
    files = {str(path.relative_to(TOP)) for path in closure(f"pipeline.stages.{stage}")}
    tables = {f"pipeline/{path.parent.name}/__init__.py" for path in PACKAGE.glob("*/__init__.py")}
    return files - tables


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_the_code_it_imports_and_no_other(stage: str) -> None:
    names = {dep for dep in listed(stage) if dep.endswith(".py") and "${" not in dep}
    folders = {dep for dep in listed(stage) if (TOP / dep).is_dir()}
    wanted = {path for path in imported(stage) if str(Path(path).parent) not in folders}

    assert sorted(names) == sorted(wanted)


BUILDING = ["dataset", "plan", "stitch", "detect", "control", "audit", "compare", "trial", "report"]


@pytest.mark.parametrize("stage", BUILDING)
def test_a_stage_depends_on_the_variants_it_builds(stage: str) -> None:
    tables = {path.parent.name for path in closure(f"pipeline.stages.{stage}") if path.name == "__init__.py"} - {
        "pipeline",
        "stages",
    }
    folders = {Path(dep).name if (TOP / dep).is_dir() else Path(dep).parent.name for dep in listed(stage)}

    if stage in ("stitch", "detect", "control", "audit"):
        tables -= {"models"}  # through the receiver's plan
    assert tables <= folders


def test_outputs_lie_where_paths_says() -> None:
    item = {"model": "M", "seed": 7, "dataset": "D", "sender": "S", "receiver": "R", "index": "I"}
    expected = {
        "check": [paths.CHECKED],
        "dataset": [paths.dataset("D")],
        "plan": [paths.plan("M")],
        "train": [paths.network("M", 7)],
        "extract": [paths.activations("M", 7, "D"), paths.statistics("M", 7, "D"), paths.unstitched("M", 7, "D")],
        "stitch": [paths.cells("S", "R", 7), paths.stitches("S", "R", 7)],
        "control": [paths.controls("R", 7)],
        "detect": [paths.detectors("R", 7)],
        "audit": [paths.audit("S", "R", 7)],
        "compare": [paths.comparison("I")],
        "trial": [paths.TRIALS],
    }

    for stage, outputs in expected.items():
        written = [
            filled(out, {**item, "key": "D" if stage == "dataset" else "M"}) for out in definition(stage)["outs"]
        ]
        assert written == [str(path) for path in outputs]


def filled(text: str, item: dict) -> str:
    for key, value in item.items():
        text = text.replace(f"${{item.{key}}}", str(value)).replace(f"${{{key}}}", str(value))
    return text
