"""Stitches that end in images: between autoencoders of different data, and back into a network's input."""

import copy
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.arrays import PAINTED
from pipeline.errors import ParamsError
from pipeline.evidence import read_evidence
from pipeline.loading import typed_params
from pipeline.objectives.assignment import assigned
from pipeline.params import Params
from pipeline.prepared import read_prepared
from pipeline.stages import (
    audit,
    check,
    compare,
    control,
    dataset,
    detect,
    extract,
    grid,
    making,
    plan,
    report,
    stitch,
    train,
)
from pipeline.stages import cells as stage_cells
from pipeline.stages.making import loaded
from tests.running import forget

TOP = Path(__file__).resolve().parents[2]
DEFAULT = YAML(typ="safe").load(TOP / "params.yaml") | {"claims": []}


def study(**changes: object) -> Params:
    """An autoencoder of coloured digits stitched into one of grey digits, at their bottlenecks."""
    document = copy.deepcopy(DEFAULT)
    document["machine"]["slots"] = 1
    document["root"] = str(TOP)
    source = {"kind": "digits", "size": 16, "train_fraction": 0.8}
    document["datasets"] = {
        name: {
            "kind": "renormalised", "mean": [0, 0, 0], "std": [1, 1, 1],
            "source": {"kind": "colour_digits", "scheme": scheme, "source": source},
        }
        for name, scheme in (("hues", "correlated"), ("shapes", "bw"))
    }  # fmt: skip
    sizes = {"channels": [8, 16], "hidden": 64, "bottleneck": 32, "widths": []}
    document["architectures"] = {"ae": {"kind": "autoencoder", **sizes}}
    recipe = {"optimiser": "adam", "lr": 0.002, "weight_decay": 0, "epochs": 12, "batch": 32}
    document["recipes"] = {"adam": document["recipes"]["sgd"] | recipe}
    document["models"] = {
        name: {"architecture": "ae", "dataset": name, "recipe": "adam", "weights": "trained"}
        for name in ("hues", "shapes")
    }
    document["seeds"], document["senders"], document["receivers"] = [0], ["hues"], ["shapes"]
    document["extract"] |= {"datasets": ["hues", "shapes"], "cuts": ["encoder"]}
    document["detectors"], document["detection"]["auxiliary"] = {"nearest": document["detectors"]["nearest"]}, "shapes"
    document["stitch"] |= {"data": "hues", "towards": "shapes", "optimiser": "adam", "lr": 0.02, "epochs": 25}
    document["objectives"] = {"class_map": {"recipe": None}, "assignment": {"recipe": None}}
    document["controls"] = {"noise": {"radius": 0.1, "classes": None}}
    document["trials"] = {}
    document["figures"] = {"accuracy_by_cut": {"width": 7}, "paintings": {"width": 7, "images": 12}}
    for place, value in changes.items():
        section, _, key = place.partition("__")
        document[section] = {**document[section], key: value} if key else value
    return typed_params(document)


def run(params: Params) -> pandas.DataFrame:
    forget()
    stitch.run(params, params.senders[0], params.receivers[0], 0)
    rows = pandas.read_csv(paths.cells(params.senders[0], params.receivers[0], 0))
    return rows.pivot(index=["objective", "sender_cut"], columns="measure", values="value").sort_index()


@pytest.fixture(scope="module")
def _trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("painters")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        params = study()
        for name in params.datasets:
            dataset.run(params, name)
        for name in params.models:
            plan.run(params, name)
            train.run(params, name, 0)
            for data in params.extract.datasets:
                extract.run(params, name, 0, data)
    return folder


@pytest.fixture
def trained(_trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both autoencoders and their stores; what tests stitch comes beside them."""
    monkeypatch.chdir(_trained)
    forget()
    return _trained


def accuracy_of(found: pandas.DataFrame, objective: str) -> float:
    return found.query(f"objective == '{objective}'")["accuracy"].tolist()[0]


def own_accuracy() -> float:
    rows = pandas.read_csv(paths.network("shapes", 0) / "rows.csv")
    return rows.query("measure == 'accuracy'")["value"].tolist()[0]


def painting(params: Params, objective: str, cuts: str = "encoder--encoder") -> np.ndarray:
    return np.load(paths.stitches(params.senders[0], params.receivers[0], 0) / f"{objective}--{cuts}.npy")


@pytest.mark.usefixtures("trained")
def test_the_judge_knows_what_an_autoencoder_paints_of_its_own_data() -> None:
    assert own_accuracy() > 0.8


@pytest.mark.usefixtures("trained")
def test_a_class_map_paints_the_partners_class_and_not_the_senders_image() -> None:
    params = study()
    found = run(params)
    shapes = read_prepared(paths.dataset("shapes")).splits["train"]
    labels = read_prepared(paths.dataset("hues")).splits["test"].labels[:PAINTED]
    means = np.stack([shapes.inputs[shapes.labels == digit].mean(0) for digit in range(10)])

    painted = painting(params, "class_map").astype(float)

    assert accuracy_of(found, "class_map") > 0.8
    assert painted.shape == (PAINTED, 3, 16, 16)
    distances = ((painted[:, None] - means[None]) ** 2).mean((2, 3, 4))
    assert (distances.argmin(1) == labels).mean() > 0.8


@pytest.mark.usefixtures("trained")
def test_a_class_map_onto_renamed_classes_paints_those() -> None:
    found = run(study(stitch__labels={"classes": None, "offset": 3, "permutation": None}))

    assert accuracy_of(found, "class_map") > 0.8


@pytest.mark.usefixtures("trained")
def test_an_assignment_fills_the_receivers_space_without_a_label() -> None:
    params = study()
    run(params)
    store = stage_cells.opened("shapes", 0, "shapes", "eval").rows("test", "encoder").read(0, 200)
    cell = next(c for c in grid.cells(params, "hues", "shapes", 0) if c.objective == "assignment")
    given = torch.from_numpy(np.array(cell.source().rows("test", "encoder").read(0, 200)))
    with torch.inference_mode():
        before, after = cell.stitch()(given), loaded(cell, torch.device("cpu")).stitch(given)
        others = torch.from_numpy(np.array(store))

    assert float(assigned(after, others)) < 0.5 * float(assigned(before, others))
    assert painting(params, "assignment").std() > 0


@settings(max_examples=30)
@given(count=st.integers(1, 5), width=st.integers(1, 3), seed=st.integers(0, 99))
def test_an_assignment_is_the_best_of_all(count: int, width: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    given_, others = (torch.randn(count, width, generator=generator) for _ in range(2))

    totals = [float((given_ - others[list(order)]).square().sum()) for order in itertools.permutations(range(count))]

    assert float(assigned(given_, others)) == pytest.approx(min(totals), rel=1e-3, abs=1e-4)


@pytest.mark.usefixtures("trained")
def test_an_early_layer_stitched_back_into_the_input_paints_the_image() -> None:
    """The first convolution has more channels than the image, so least squares undoes most of it."""
    params = study(
        extract__cuts=["encoder.0"], senders=["shapes"], receivers=["shapes"],
        stitch={**vars(study().stitch), "labels": vars(study().stitch.labels), "data": "shapes", "pairs": "input"},
        objectives={"direct": {"cutoff": 1e-6, "samples": None, "source_rank": None, "target_rank": None}},
        controls={},
    )  # fmt: skip
    extract.run(params, "shapes", 0, "shapes")

    found = run(params)

    originals = read_prepared(paths.dataset("shapes")).splits["test"].inputs[:PAINTED].astype(float)
    painted = painting(params, "direct", "encoder.0--input").astype(float)
    assert np.abs(painted - originals).mean() < 0.1 * originals.std()
    assert found["accuracy"].tolist()[0] > own_accuracy() - 0.05
    extract.run(study(), "shapes", 0, "shapes")


@pytest.mark.usefixtures("trained")
def test_the_report_shows_what_was_painted_and_holds_it_against_the_receivers_own_data() -> None:
    params = study()
    run(params)
    detect.run(params, "shapes", 0)
    audit.run(params, "hues", "shapes", 0)
    control.run(params, "shapes", 0)
    for name in params.similarity:
        compare.run(params, name)

    report.run(params)

    cells = pandas.read_csv("reports/tables/cells.csv")
    assert Path("reports/figures/paintings.svg").stat().st_size > 10_000
    assert cells["unstitched"].tolist() == pytest.approx([own_accuracy()] * 2, abs=1e-6)
    assert all(noise == noise for noise in cells["noise"].tolist())
    shown = [(place[0], place[2]) for place in read_evidence(params).paintings]
    assert shown == [("hues", "class_map"), ("hues", "assignment"), ("noise", "class_map"), ("noise", "assignment")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"objectives": {"direct": DEFAULT["objectives"]["direct"]}},
            "objectives.direct: needs the receiver's activations on the sender's samples; set stitch.towards to hues",
        ),
        (
            {"architectures": {"ae": DEFAULT["architectures"]["small"]}, "extract__cuts": ["layer1"]},
            "objectives.class_map: shapes makes no image; it should be an autoencoder",
        ),
        (
            {"datasets": {**study().datasets, "shapes": study().datasets["shapes"]["source"]}},
            "datasets.shapes: has a mean of [0.26, 0.26, 0.26] and a deviation of [0.37, 0.37, 0.37]; "
            "shapes paints from 0 to 1, so renormalise it to a mean of 0 and a deviation of 1",
        ),
        (
            {
                "datasets": {**study().datasets, "plain": study().datasets["hues"]["source"]},
                "extract__datasets": ["hues", "shapes", "plain"],
                "stitch__towards": "plain",
            },
            "datasets.plain: has a mean of [0.5, 0.5, 0.5]",
        ),
    ],
)
def test_what_an_objective_lacks_is_found_by_check(changes: dict[str, object], words: str) -> None:
    assert any(str(error).startswith(words) for error in check.check(study(**changes)))


@pytest.mark.usefixtures("trained")
def test_a_cell_whose_receiver_has_painted_already_is_refused() -> None:
    params = study(extract__cuts=["decoder"], objectives={"class_map": {"recipe": None}})
    for name in params.models:
        extract.run(params, name, 0, params.stitch.data if name == "hues" else params.stitch.towards)

    with pytest.raises(ParamsError, match="class_map: shapes makes no image after decoder"):
        run(params)

    for name in params.models:
        for data in params.extract.datasets:
            extract.run(study(), name, 0, data)


@pytest.mark.parametrize(("labels", "partner"), [({"offset": 1}, 1), ({"classes": 4}, 0)])
@pytest.mark.usefixtures("trained")
def test_a_class_map_into_the_senders_own_data_pairs_by_the_names_of_the_study(
    labels: dict[str, int], partner: int
) -> None:
    params = study(stitch__towards="hues", receivers=["hues"], objectives={"class_map": {"recipe": None}})
    options = replace(params.stitch.labels, **labels)
    cell = grid.cells(replace(params, stitch=replace(params.stitch, labels=options)), "hues", "hues", 0)[0]
    images = read_prepared(paths.dataset("hues")).splits["train"]

    for label, numbers in enumerate(making._by_class(cell)):
        assert set(images.labels[numbers]) == {label}
    kept = np.flatnonzero(images.labels < options.classes) if options.classes else np.arange(len(images))
    assert list(cell.source().labels("train")) == [(label + partner) % 10 for label in images.labels[kept]]
