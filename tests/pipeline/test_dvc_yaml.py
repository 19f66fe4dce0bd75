"""dvc.yaml names what its stages run and build, and the artefacts where `paths` puts them."""

import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.imports import PACKAGE, closure, listing
from pipeline.registry import module_of
from pipeline.similarity import INDICES
from pipeline.stages.listing import STAGES as LISTED

TOP = PACKAGE.parent
STAGES = YAML(typ="safe").load(TOP / "dvc.yaml")["stages"]
WORKING = [stage for stage in STAGES if stage != "check"]


def definition(stage: str) -> dict:
    return STAGES[stage].get("do", STAGES[stage])


def listed(stage: str) -> set[str]:
    return {dep.removeprefix("${root}/") for dep in definition(stage)["deps"] if dep.startswith("${root}/")}


def test_check_lists_the_code_of_every_other_stage() -> None:
    assert sorted(LISTED) == sorted(WORKING)
    assert listed("check") == {"pipeline", "published"}


@pytest.mark.parametrize("copy", sorted((TOP / "studies").glob("*/dvc.yaml")), ids=lambda path: path.parent.name)
def test_every_study_has_the_same_stages(copy: Path) -> None:
    assert not copy.is_symlink()
    assert copy.read_text() == (TOP / "dvc.yaml").read_text()


@pytest.mark.parametrize("stage", WORKING)
def test_a_stage_depends_on_the_listing_of_its_code(stage: str) -> None:
    assert str(paths.code(stage)) in definition(stage)["deps"]


def test_an_index_depends_on_the_listing_of_its_own_code() -> None:
    assert filled(str(paths.index_code("${item.index}")), {"index": "I"}) == str(paths.index_code("I"))
    assert str(paths.index_code("${item.index}")) in definition("compare")["deps"]
    assert "pipeline/similarity/linear_cka.py" in listing(module_of(INDICES, "linear_cka-pooled"))


@pytest.mark.parametrize("stage", WORKING)
def test_the_listing_names_each_file_that_python_itself_imports_for_the_stage(stage: str) -> None:
    """At the top of modules only: what is imported within functions comes on top of these."""
    files = "*filter(None, (vars(module).get('__file__') for module in sys.modules.values()))"
    script = f"import sys, pipeline.stages.{stage}; print({files}, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=TOP, capture_output=True, text=True, check=True).stdout
    imported = {Path(file) for file in loaded.splitlines() if Path(file).is_relative_to(PACKAGE)}

    named = {TOP / line.split()[0] for line in listing(f"pipeline.stages.{stage}").splitlines()}

    assert named >= imported - set(PACKAGE.rglob("__init__.py"))


@pytest.mark.parametrize("stage", WORKING)
def test_what_variants_import_is_listed_too(stage: str) -> None:
    """Those of each folder that the stage depends on, and of all indices for the comparison of one."""
    folders = {PACKAGE / dep.split("/")[1] for dep in listed(stage) if dep.startswith("pipeline/")} - {
        PACKAGE / "page.html.j2"
    }
    folders |= {PACKAGE / "similarity"} if stage == "compare" else set()
    variants = [f"pipeline.{folder.name}.{path.stem}" for folder in folders for path in folder.glob("*.py")]

    named = {TOP / line.split()[0] for line in listing(f"pipeline.stages.{stage}").splitlines()}

    wanted = {path for path in closure(*variants) if path.parent not in folders and path.name != "__init__.py"}
    assert wanted <= named


# Models are built from plans, which depend on their code; `detect` imports two more tables and builds nothing of them.
UNBUILT = {
    "stitch": {"models"},
    "detect": {"models", "objectives", "stitches"},
    "control": {"models"},
    "audit": {"models"},
    "trial": {"models"},
}
BUILDING = ["dataset", "plan", "stitch", "detect", "control", "audit", "compare", "trial", "report"]


@pytest.mark.parametrize("stage", BUILDING)
def test_a_stage_depends_on_the_variants_it_builds(stage: str) -> None:
    tables = {path.parent.name for path in closure(f"pipeline.stages.{stage}") if path.name == "__init__.py"} - {
        "pipeline",
        "stages",
    }
    folders = {Path(dep).name for dep in listed(stage)}
    if str(paths.index_code("${item.index}")) in definition(stage)["deps"]:
        folders.add("similarity")

    assert tables - UNBUILT.get(stage, set()) <= folders


def test_outputs_lie_where_paths_says() -> None:
    item = {"model": "M", "seed": 7, "dataset": "D", "sender": "S", "receiver": "R", "index": "I"}
    expected = {
        "check": [paths.code("check").parent],
        "dataset": [paths.dataset("D")],
        "plan": [paths.plan("M")],
        "train": [paths.network("M", 7)],
        "extract": [paths.activations("M", 7, "D"), paths.statistics("M", 7, "D"), paths.unstitched("M", 7, "D")],
        "stitch": [paths.cells("S", "R", 7), paths.stitches("S", "R", 7)],
        "control": [paths.controls("R", 7)],
        "detect": [paths.detectors("R", 7)],
        "audit": [paths.audit("S", "R", 7), paths.distances("S", "R", 7)],
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
