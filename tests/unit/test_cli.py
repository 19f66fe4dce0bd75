"""The commands for people: cuts and study."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.errors import ParamsError
from pipeline.loading import load_params
from pipeline.stages.study import TOP, new, use


def test_cuts_of_a_torchvision_model_are_printed_with_shapes_and_bytes() -> None:
    result = CliRunner().invoke(main, ["cuts", "resnet18", "--input", "3x28x28"])

    lines = [line.split() for line in result.output.splitlines()]
    assert lines[0] == ["cut", "shape", "MB", "/", "1,000", "also"]
    assert ["layer1", "64x7x7", "12.54", "layer1.1", "layer1.1.relu_1"] in lines
    assert ["avgpool", "512x1x1", "2.05"] in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["resnet81"], "error: cuts: resnet81 is no model of params.yaml"),
        (["resnet18", "--input", "28"], "error: --input: 28 is not a shape; write it as 3x28x28\n"),
        (["resnet18", "--input", "1x28x28"], "3"),
    ],
)
def test_cuts_of_what_is_not_a_model_or_shape_are_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["cuts", *arguments])

    assert result.exit_code == 2
    assert words in result.output
    assert result.output.count("\n") == 1


def test_a_stage_computes_with_as_many_threads_as_params_say(tmp_path: Path) -> None:
    """NumPy's BLAS reads how many when it is loaded, and is slower with two where processors are shared."""
    tiny = TOP / "studies/tiny"
    for file in ("params.yaml", "dvc.yaml"):
        text = (tiny / file).read_text()
        (tmp_path / file).write_text(text.replace("root: ../..", f"root: {TOP}"))
    told = "import threadpoolctl; print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    code = f"import pipeline.cli as cli; cli._run('dataset', ['patches'], []); {told}"
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}

    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=unset | {"PYTHONPATH": str(TOP)}, capture_output=True, text=True
    )

    assert found.stdout.splitlines()[-1] == "{1}", found.stderr


def copy_of_the_top(folder: Path) -> None:
    for file in ("params.yaml", "dvc.yaml"):
        (folder / file).write_bytes((TOP / file).read_bytes())
    (folder / ".dvcignore").write_text("/studies/*/\n!/studies/tiny/\n")


def test_a_new_study_is_a_params_file_beside_the_stages_of_all_studies(tmp_path: Path) -> None:
    copy_of_the_top(tmp_path)

    folder = new("mine", tmp_path)

    params = load_params(folder / "params.yaml")
    assert (params.root, params.study.title) == ("../..", "mine")
    assert (folder / "dvc.yaml").read_text() == (TOP / "dvc.yaml").read_text()
    assert (params.claims, params.published) == ((), None)
    assert "Five" not in (folder / "params.yaml").read_text()
    assert "# never part of a hash" in (folder / "params.yaml").read_text()
    assert seen(tmp_path) == ["tiny", "mine"]


def seen(top: Path) -> list[str]:
    """The studies that DVC is told not to leave alone."""
    return re.findall(r"^!/studies/(.*)/$", (top / ".dvcignore").read_text(), re.MULTILINE)


def test_a_study_comes_into_use_once(tmp_path: Path) -> None:
    copy_of_the_top(tmp_path)
    new("mine", tmp_path)

    assert use("mine", tmp_path) == tmp_path / "studies/mine"

    assert seen(tmp_path) == ["tiny", "mine"]
    with pytest.raises(ParamsError, match=r"study: mnie is not there; did you mean mine\?"):
        use("mnie", tmp_path)
    for name in ("mine/", "../studies/mine", "else"):
        with pytest.raises(ParamsError, match="is not there"):
            use(name, tmp_path)
    assert seen(tmp_path) == ["tiny", "mine"]


@pytest.mark.parametrize(("name", "words"), [("../up", "is not a safe name"), ("mine", "is there already")])
def test_a_study_that_cannot_be_made_is_refused(name: str, words: str, tmp_path: Path) -> None:
    copy_of_the_top(tmp_path)
    new("mine", tmp_path)

    with pytest.raises(ParamsError, match=words):
        new(name, tmp_path)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["bill", "--rate", "fast"],
            "error: main bill: Invalid value for '--rate': 'fast' is not a valid float; ma",
        ),
        (["cuts"], "error: main cuts: Missing argument 'MODEL'; main cuts --help tells what it takes"),
        (["zzz"], "error: main: No such command 'zzz'; main --help tells what it takes"),
        (["--zzz"], "error: main: No such option '--zzz'; main --help tells what it takes"),
        (["study", "new"], "error: main study new: Missing argument 'NAME'; main study new --help tells what it takes"),
    ],
)
def test_a_command_that_cannot_be_meant_is_one_line(words: list[str], line: str) -> None:
    done = CliRunner().invoke(main, words)

    (told,) = done.output.splitlines()
    assert done.exit_code == 2
    assert told.startswith(line)


@pytest.mark.parametrize("words", [[], ["study"]])
def test_a_group_without_a_command_says_which_there_are(words: list[str]) -> None:
    done = CliRunner().invoke(main, words)

    assert "Commands:" in done.output
    assert "error" not in done.output
