"""What a params file may not say, and the one line that says so."""

import copy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.errors import ParamsError
from pipeline.loading import load_params, typed_params
from tests.unit.test_models import study_file

TOP = Path(__file__).resolve().parents[2]
TINY: dict[str, Any] = YAML(typ="safe").load(TOP / "studies/tiny/params.yaml")
GONE = object()


def changed(place: str, value: object) -> dict[str, Any]:
    """The tiny study with one key set, added or taken away."""
    document = copy.deepcopy(TINY)
    *path, last = place.split(".")
    block = document
    for key in path:
        block = block[key]
    if value is GONE:
        del block[last]
    else:
        block[last] = value
    return document


BAD = [
    ("stitchs", {}, r"stitchs: not a known key; did you mean stitch"),
    ("stitch.learning_rate", 1, r"stitch\.learning_rate: not a known key; choose from batch"),
    ("stitch.lr", GONE, r"stitch\.lr: is missing; it should be a number"),
    ("stitch.lr", "fast", r"stitch\.lr: is 'fast'; it should be a number"),
    ("stitch.lr", 0, r"stitch\.lr: is 0; it should be above 0"),
    ("stitch.lr", float("nan"), r"stitch\.lr: is nan; it should be above 0"),
    ("stitch.epochs", 2.5, r"stitch\.epochs: is 2\.5; it should be a whole number"),
    ("stitch.epochs", True, r"stitch\.epochs: is True; it should be a whole number"),
    ("stitch.epochs", 0, r"stitch\.epochs: is 0; it should be 1 or more"),
    ("stitch.batch", 0, r"stitch\.batch: is 0; it should be 2 or more"),
    ("stitch.momentum", 1.0, r"stitch\.momentum: is 1; it should be from 0 to below 1"),
    ("stitch.weight_decay", -1, r"stitch\.weight_decay: is -1; it should be 0 or more"),
    ("stitch.warmup_epochs", 3, r"stitch\.warmup_epochs: is 3; it should be from 0 to the 2 epochs"),
    ("stitch.optimiser", "sdg", r"stitch\.optimiser: sdg is not a known value; did you mean sgd"),
    ("stitch.data", "patchs", r"stitch\.data: patchs is not defined; did you mean patches"),
    ("stitch.map", "conv1x", r"stitch\.map: conv1x is not defined; did you mean conv1x1"),
    ("models.one.dataset", "patchs", r"models\.one\.dataset: patchs is not defined; did you mean patches"),
    ("models.one.architecture", "big", r"models\.one\.architecture: big is not defined; choose from small"),
    ("models.one.recipe", "adam", r"models\.one\.recipe: adam is not defined; choose from sgd"),
    ("models.../three", TINY["models"]["one"], r"models\.\.\./three: is not a safe name; use letters"),
    ("stitch.milestones", [1, 1], r"stitch\.milestones: are \[1, 1\]; they should rise, from 1 to below the 2 epochs"),
    ("stitch.milestones", [2], r"stitch\.milestones: are \[2\]; they should rise"),
    ("seeds", [-1], r"seeds: names -1; a seed should be 0 or more"),
    ("seeds", [], r"seeds: is empty; it should name at least one"),
    ("seeds", [0, 0], r"seeds: names 0 twice; name it once"),
    ("seeds", ["a"], r"seeds\[0\]: is 'a'; it should be a whole number"),
    ("senders", ["won"], r"senders: won is not defined; did you mean two or one"),
    ("extract.datasets", ["other"], r"extract\.datasets: other is not defined; choose from patches"),
    ("extract.cuts", [], r"extract\.cuts: is empty; it should name at least one cut or pattern"),
    ("extract.batch", 0, r"extract\.batch: is 0; it should be 1 or more"),
    ("extract.layout", "flat", r"extract\.layout: flat is not a known value; choose from packed, raw"),
    ("extract.dtype", "float", r"extract\.dtype: float is not a known value; did you mean float"),
    ("machine.device", "gpu", r"machine\.device: gpu is not a device; choose from auto, cpu, cuda"),
    ("machine.memory_gb", 0, r"machine\.memory_gb: is 0; it should be above 0"),
    ("machine.threads", -1, r"machine\.threads: is -1; it should be 0 or more"),
    (
        "machine",
        {**TINY["machine"], "threads": 0, "slots": 2},
        r"machine\.threads: is 0 with 2 slots; it should be given",
    ),
    ("machine.slots", 0, r"machine\.slots: is 0; it should be 1 or more"),
    ("objectives", {}, r"objectives: is empty; it should name at least one"),
    (
        "stitch.sender_bn",
        "train",
        r"stitch\.sender_bn: train is not a known value; choose from batch",
    ),
    ("stitch.decay", "some", r"stitch\.decay: some is not a known value; choose from all, matrices"),
    ("stitch.labels.classes", 1, r"stitch\.labels\.classes: is 1; it should be 2 or more"),
    ("stitch.labels.permutation", [0, 2], r"stitch\.labels\.permutation: is \[0, 2\]; it should name each class"),
    ("verdict.confidence", 1, r"verdict\.confidence: is 1; it should be from 0\.5 to below 1"),
    ("verdict.margin", -0.1, r"verdict\.margin: is -0\.1; it should be from 0 to below 1"),
    ("controls.one", {}, r"models\.one: is also the name of a control; use another"),
    ("study", "a title", r"study: is 'a title'; it should be a block of title, question"),
]


@pytest.mark.parametrize(("place", "value", "words"), BAD, ids=[f"{place}={value}"[:40] for place, value, _ in BAD])
def test_what_cannot_be_meant_is_refused_in_one_line(place: str, value: object, words: str) -> None:
    document = changed(place, value) if "/" not in place else {**TINY, "models": {**TINY["models"], "../three": value}}
    write(document)

    with pytest.raises(ParamsError, match=f"^{words}" if "/" not in place else "is not a safe name") as refusal:
        load_params(Path("params.yaml"))

    assert "\n" not in str(refusal.value)


def write(document: object) -> None:
    with Path("params.yaml").open("w") as file:
        YAML(typ="safe").dump(document, file)


def test_a_whole_study_is_accepted() -> None:
    assert typed_params(TINY).stitch.lr == 0.01


def test_a_rate_without_a_point_is_a_number() -> None:
    Path("params.yaml").write_text((TOP / "studies/tiny/params.yaml").read_text().replace("lr: 0.01", "lr: 1e-3"))

    assert load_params(Path("params.yaml")).stitch.lr == 0.001


def at_home(document: dict[str, Any]) -> dict[str, Any]:
    """The study as if it lay in the repository."""
    return {**document, "root": str(TOP)}


CHECKED = [
    ("root", "../../..", "root: ../../.. leads to no folder pipeline; it should lead to the repository's top"),
    ("extract.cuts", ["layer?", "layr?"], "extract.cuts: layr? is not a legal cut; did you mean"),
    (
        "similarity",
        {"linear_ckaa": {}},
        "similarity.linear_ckaa: linear_ckaa is not a known name; did you mean linear_cka?",
    ),
    ("datasets.patches.kind", "cifar", "datasets.patches.kind: cifar is not a known name; did you mean cifar10?"),
    ("datasets.patches.kind", ["a"], "datasets.patches.kind: ['a'] is not a known name; choose from"),
    ("datasets.patches.kind", GONE, "datasets.patches: has no kind; choose from"),
    ("datasets.patches.size", 1, "datasets.patches.size: is 1; it should be"),
    ("architectures.small.width", 0, "architectures.small.width: is 0; it should be"),
    ("architectures.small.width", 10**9, "architectures.small: cannot be built (models.one on patches): "),
    ("recipes.sgd.augment", ["flop"], "recipes.sgd.augment: flop is not a known augmentation; did you mean flip?"),
    ("extract.cuts", ["layr?"], "extract.cuts: layr? is not a legal cut; did you mean"),
    (
        "extract.cuts",
        ["layer1.0.conv1"],
        "extract.cuts: layer1.0.conv1 is not a legal cut; more than one tensor crosses",
    ),
    ("models.one.weights", "mine.safetensors", "mine.safetensors: no such file; put the weights there"),
    ("machine.device", "cuda:9", "machine.device: cuda:9 is not there; this machine has cpu"),
    ("ranks.numerical.threshold", 2, "ranks.numerical.threshold: is 2; it should be above 0 and below 1"),
    ("objectives.direct.samples", 1, "objectives.direct.samples: is 1; it should be 2 or more, or null for all"),
    ("objectives.task.start", "zero", "objectives.task.start: zero is not a known value; choose from"),
    ("stitches.conv1x1.places", "kept", "stitches.conv1x1.places: kept is not a known value; did you mean keep?"),
    ("controls.nose", {}, "controls.nose: nose is not a known name; did you mean noise?"),
    ("controls.nois-wide", {}, "controls.nois-wide: nois is not a known name; did you mean noise?"),
    ("controls.noise-a b", {}, "controls.noise-a b: noise-a b is not a known name; did you mean noise?"),
    ("datasets.patches.kind", "synthetic-x", "kind: synthetic-x is not a known name; did you mean synthetic?"),
    ("objectives.task.recipe", "sgd", "objectives.task.recipe: sgd augments images; a stitch sees none"),
    ("objectives.task.recipe", "adm", "objectives.task.recipe: adm is not defined; choose from sgd"),
    ("controls.noise.radius", -1, "controls.noise.radius: is -1; it should be 0 or more"),
    ("machine.memory_gb", 1e-6, "least squares over 8 features needs 3.07e-06 GB and has 1e-06"),
    ("controls.noise.classes", 9, "controls.noise: has 9 classes and two tells 3 apart"),
    ("comparison.permutations", -1, "comparison.permutations: is -1; it should be 0 or more"),
    ("comparison.groups", 1, "comparison.groups: is 1; it should be 2 or more, or 0"),
    ("comparison", GONE, "comparison: is missing; it should be"),
    ("figures.cka.index", "ckk", "figures.cka.index: ckk is not defined in similarity; choose from linear_cka"),
    ("stitch.labels.classes", 9, "stitch.labels.classes: is 9; patches has 3 classes"),
    (
        "stitch.labels.permutation",
        [1, 0],
        "stitch.labels.permutation: names 2 classes; two tells 3 apart",
    ),
    ("objectives.direct.cutoff", 0, "objectives.direct.cutoff: is 0; it should be above 0 and below 1"),
    ("datasets.patches", {"kind": "mnist", "files": "official", "limit": None}, "train-images-idx3-ubyte.gz"),
]


@pytest.mark.parametrize(("place", "value", "words"), CHECKED, ids=[place for place, *_ in CHECKED])
def test_check_finds_it_in_one_line_and_exits_with_2(
    place: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BACKSTITCH_DATA_ROOT", raising=False)
    document = changed(place, value)
    write(document if place == "root" else at_home(document))

    result = CliRunner().invoke(main, ["check"])

    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert all(line.startswith("error: ") for line in result.output.splitlines())


def test_check_finds_a_map_of_calibrated_values_that_there_will_not_be() -> None:
    document = changed("comparison.permutations", 0)
    document["figures"]["cka"]["value"] = "calibrated"
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert result.output == (
        "error: figures.cka.value: is calibrated; comparison.permutations is 0 and should be above\n"
    )


def test_check_finds_a_map_of_numbers_that_there_will_not_be() -> None:
    document = changed("audit.errors", False)
    document["figures"]["layer_grid"] = {"width": 7, "measure": "error"}
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert result.output.startswith("error: figures.layer_grid.measure: error is not measured; choose from accuracy, ")


def test_check_finds_every_fault_at_once() -> None:
    document = changed("senders", ["won", "tow"])
    document["ranks"]["numerical"]["threshold"] = 2
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert len(result.output.splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\nb: 2\n", r"params.yaml: is not YAML at line \d"),
        ("- a\n- b\n", r"params.yaml: is \['a', 'b'\]; it should be a block of root, study"),
        ("", r"params.yaml: is None; it should be a block"),
    ],
)
def test_a_file_that_is_no_block_of_yaml_is_refused(text: str, words: str) -> None:
    Path("params.yaml").write_text(text)

    with pytest.raises(ParamsError, match=words):
        load_params(Path("params.yaml"))


def test_a_file_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(main, ["stitch", "one", "two", "0"])

    assert (result.exit_code, result.output) == (2, "error: params.yaml: no such file; run this in a study's folder\n")


def test_a_stage_of_something_undefined_is_refused() -> None:
    write(TINY)

    result = CliRunner().invoke(main, ["train", "won", "0"])

    assert (result.exit_code, result.output) == (
        2,
        "error: models: won is not defined in params.yaml; did you mean two or one?\n",
    )


def test_names_that_dvc_would_take_for_one_another_are_refused() -> None:
    document = changed("models", dict.fromkeys(("a", "a-b", "b-c", "c"), TINY["models"]["one"]))
    document |= {"senders": ["a", "a-b"], "receivers": ["b-c", "c"]}
    write(document)

    with pytest.raises(ParamsError, match="senders: several would make the stage a-b-c-0; use names without -"):
        load_params(Path("params.yaml"))


def test_a_folder_in_the_place_of_the_file_is_refused() -> None:
    Path("params.yaml").mkdir()

    with pytest.raises(
        ParamsError, match=r"params\.yaml: cannot be read: Is a directory; it should be a readable file"
    ):
        load_params(Path("params.yaml"))


def test_a_cut_need_be_in_one_model_only() -> None:
    document = at_home(changed("extract.cuts", ["layer1", "layer3"]))
    small = document["architectures"]["small"]
    document["architectures"]["deep"] = {**small, "blocks": [1, 1, 1]}
    document["models"]["two"] = {**document["models"]["two"], "architecture": "deep"}
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert (result.exit_code, result.output) == (0, "nothing wrong found\n")


def test_a_network_made_for_one_size_does_not_take_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every network is run on every dataset, at that one's size, and is built for its own."""
    study_file(monkeypatch, Path.cwd(), "flat_nets", FLAT)
    document = at_home(changed("extract.cuts", ["layer1", "layers.0"]))
    document["datasets"]["larger"] = {**document["datasets"]["patches"], "size": 12}
    document["architectures"]["flat"] = {"kind": "user", "function": "flat_nets:build", "options": {}}
    document["models"]["flat"] = {**document["models"]["one"], "architecture": "flat"}
    document["extract"]["datasets"] = ["patches", "larger"]
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert result.exit_code == 2
    assert result.output.startswith("error: the model: does not take inputs of 3x12x12: addmm: ")
    assert result.output.endswith(" (models.flat on larger)\n") and result.output.count("\n") == 1


FLAT = """
from math import prod
from torch import nn

class Flat(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(width, classes))

    def forward(self, images):
        return self.layers(images)

def build(shape, classes):
    return Flat(prod(shape), classes)
"""


def test_every_mistake_of_types_is_told_at_once() -> None:
    document = changed("stitch.optimizer", "adam")
    del document["stitch"]["optimiser"]
    document["stitch"]["lr"] = "3e-2x"
    document["stitch"]["pairs"] = "some"
    document["machine"]["slots"] = 0
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert result.exit_code == 2
    assert [line.split(";")[0] for line in result.output.splitlines()] == [
        "error: machine.slots: is 0",
        "error: stitch.optimizer: not a known key",
        "error: stitch.lr: is '3e-2x'",
        "error: stitch.pairs: some is not a known value",
    ]


def test_a_receiver_that_tells_fewer_classes_apart_than_there_are_is_refused() -> None:
    document = at_home(changed("stitch.data", "patches"))
    document["datasets"]["fewer"] = {**document["datasets"]["patches"], "categories": 2}
    document["models"]["two"] = {**document["models"]["two"], "dataset": "fewer"}
    write(document)

    result = CliRunner().invoke(main, ["check"])

    assert "patches has 3 classes and two tells 2 apart; set stitch.labels.classes to 2 or fewer" in result.output
