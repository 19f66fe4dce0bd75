"""The stages one after another on the tiny study, in this process, and what their numbers must be."""

import copy
import io
import json
import os
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from ruamel.yaml import YAML
from sklearn.metrics import r2_score
from torch import nn
from torch.nn.functional import cross_entropy

from pipeline import paths
from pipeline.arrays import Held
from pipeline.errors import DataError, ParamsError, ResourceError, StoreError, TrainingError
from pipeline.figures.tables import where
from pipeline.loading import typed_params
from pipeline.moments import Moments, by_place
from pipeline.networks import accuracy, answers, read_network
from pipeline.norms import statistics
from pipeline.params import Labelling, Params
from pipeline.prepared import read_prepared
from pipeline.probing import probe_accuracy
from pipeline.randomness import generator, seed_for, seeded
from pipeline.ranks.numerical import Numerical
from pipeline.similarity.linear_cka import LinearCKA
from pipeline.stages import (
    audit,
    baselines,
    check,
    compare,
    control,
    dataset,
    detect,
    detecting,
    extract,
    grid,
    making,
    pairings,
    plan,
    report,
    stitch,
    train,
    trial,
)  # fmt: skip
from pipeline.stages import cells as stage_cells
from pipeline.stages.cells import Cell
from pipeline.stages.judging import Judged, bars
from pipeline.stages.passing import Passed, through
from pipeline.store import Store, open_store
from pipeline.weights import read, save_weights, weights_digest
from tests.running import forget

CPU = torch.device("cpu")
TOP = Path(__file__).resolve().parents[2]
TINY = YAML(typ="safe").load(TOP / "studies/tiny/params.yaml")


def study(**changes: object) -> Params:
    """The tiny study with both networks as senders, and with `section__key=value` changed."""
    document = copy.deepcopy(TINY)
    document["senders"] = ["one", "two"]
    for place, value in changes.items():
        *path, last = place.split("__")
        block = document
        for key in path:
            block = block[key]
        block[last] = value
    return typed_params(document)


def prepare(params: Params) -> None:
    for name in params.datasets:
        dataset.run(params, name)
    for name in params.models:
        plan.run(params, name)


@pytest.fixture(scope="module")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    params, home = study(), Path.cwd()
    folder = tmp_path_factory.mktemp("finished")
    os.chdir(folder)
    forget()
    prepare(params)
    for name in params.models:
        train.run(params, name, 0)
        extract.run(params, name, 0, "patches")
    for sender in params.senders:
        stitch.run(params, sender, "two", 0)
        audit.run(params, sender, "two", 0)
    compare.run(params, "linear_cka")
    os.chdir(home)
    return folder


@pytest.fixture
def finished(_finished: Path, tmp_path: Path) -> Iterator[Path]:
    """A study with every stage but the report done; this test's own copy, and its working folder."""
    shutil.copytree(_finished, tmp_path, dirs_exist_ok=True)
    forget()
    yield tmp_path
    forget()


@pytest.mark.usefixtures("finished")
def test_a_store_holds_what_the_network_does() -> None:
    store, data = Store(paths.store("one", 0, "patches")), read_prepared(paths.dataset("patches"))
    network = read_network("one", 0, CPU)
    seen: list[torch.Tensor] = []
    network.get_submodule("layer1").register_forward_hook(lambda *call: seen.append(call[2].clone()))

    with torch.inference_mode():
        for start in range(0, 64, 16):
            network(data.splits["test"].batch(slice(start, start + 16), CPU))

    assert store.cuts == ("relu", "layer1", "layer2")
    assert np.array_equal(store.rows("test", "layer1").read(0, 64), torch.cat(seen).numpy())
    assert store.identity.weights == weights_digest(network)
    assert np.array_equal(store.labels("test"), data.splits["test"].labels)


@pytest.mark.usefixtures("finished")
def test_the_receivers_own_direct_stitch_gives_the_receivers_own_accuracy_and_rank() -> None:
    rows = pandas.read_csv(paths.cells("two", "two", 0)).query("objective == 'direct' and measure == 'accuracy'")
    own = accuracy(read_network("two", 0, CPU), read_prepared(paths.dataset("patches")).splits["test"], CPU)
    ranks = pandas.read_csv(paths.audit("two", "two", 0) / "rows.csv").query("objective == 'direct'").pivot(
        index="sender_cut", columns="measure", values="value"
    )  # fmt: skip

    assert len(rows) == 3
    assert rows["value"].tolist() == [own] * 3
    assert ranks["numerical"].tolist() == ranks["receiver_numerical"].tolist()
    assert ranks["cut_numerical"].tolist() == ranks["receiver_cut_numerical"].tolist()


@pytest.mark.usefixtures("finished")
def test_unstitched_accuracy_is_the_networks_own() -> None:
    data = read_prepared(paths.dataset("patches")).splits["test"]

    for name in ("one", "two"):
        rows = pandas.read_csv(paths.unstitched(name, 0, "patches"))
        found = rows.query("measure == 'accuracy'")["value"].tolist()
        rows = pandas.read_csv(paths.network(name, 0) / "rows.csv")
        trained = rows.query("measure == 'accuracy'")["value"].tolist()
        assert found == trained == [accuracy(read_network(name, 0, CPU), data, CPU)]


@pytest.mark.usefixtures("finished")
def test_comparison_has_every_pair_of_layers_and_ones_on_its_diagonal() -> None:
    compared = pandas.read_csv(paths.comparison("linear_cka"))
    rows = compared.query("measure == 'linear_cka'")
    own = rows.query("model == other_model and cut == other_cut")

    assert len(rows) == (2 * 3) ** 2
    assert own["value"].to_numpy() == pytest.approx(1)
    assert rows["value"].between(0, 1 + 1e-12).all()


@pytest.mark.usefixtures("finished")
def test_a_similarity_stands_beside_its_error_and_what_permuted_layers_reach() -> None:
    compared = pandas.read_csv(paths.comparison("linear_cka"))
    keys = [column for column in compared if column not in ("measure", "value")]
    wide = compared.pivot(index=keys, columns="measure", values="value")
    names = {f"linear_cka{kind}" for kind in ("", "_error", "_null", "_p", "_calibrated")}
    value, mean = wide["linear_cka"], wide["linear_cka_null"]

    assert set(wide) == names
    assert wide.notna().all(axis=None)
    assert wide["linear_cka_calibrated"].to_numpy() == pytest.approx(((value - mean) / (1 - mean)).to_numpy())
    assert wide["linear_cka_p"].to_numpy().min() == 0.01
    assert wide["linear_cka_p"].to_numpy().max() <= 1
    assert wide["linear_cka_error"].to_numpy().min() >= 0
    assert wide["linear_cka_error"].to_numpy().max() > 0.001


@pytest.mark.usefixtures("finished")
def test_a_comparison_is_the_same_bytes_again_and_of_another_seed_the_same_values_alone() -> None:
    file = paths.comparison("linear_cka")
    before = file.read_bytes()

    compare.run(study(), "linear_cka")
    again = file.read_bytes()
    compare.run(study(seed=1), "linear_cka")

    assert again == before
    first, second = (pandas.read_csv(io.BytesIO(text)) for text in (before, file.read_bytes()))
    moved = set(first.loc[first["value"] != second["value"], "measure"])
    assert moved >= {"linear_cka_error", "linear_cka_null"}
    assert "linear_cka" not in moved


@pytest.mark.usefixtures("finished")
def test_without_permutations_and_groups_a_comparison_is_the_index_alone() -> None:
    compare.run(study(comparison__permutations=0, comparison__groups=0), "linear_cka")

    assert set(pandas.read_csv(paths.comparison("linear_cka"))["measure"]) == {"linear_cka"}


UNCOMPARED = [
    ({"comparison__groups": 65}, ParamsError, r"comparison\.groups: is 65; it should be at most 64, the test samples"),
    (
        {"similarity__mutual_knn": {"k": 64, "distance": "cosine", "of": "pooled"}},
        ParamsError,
        r"^similarity\.mutual_knn\.k: is 64; it should be below the number of samples, 64$",
    ),
    (
        {"similarity__mutual_knn": {"k": 60, "distance": "cosine", "of": "pooled"}},
        ParamsError,
        r"^similarity\.mutual_knn\.k: is 60; it should be below the number of samples, 57; 7 of 64 are left out",
    ),
]


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize(("changes", "kind", "message"), UNCOMPARED)
def test_a_comparison_that_cannot_be_made_is_refused_in_one_line(changes: dict, kind: type, message: str) -> None:
    params = study(**changes)

    with pytest.raises(kind, match=message):
        compare.run(params, next(reversed(params.similarity)))


@pytest.mark.parametrize("alive", [0, 1])
def test_a_dead_layer_is_refused_by_its_name(alive: int) -> None:
    """Of which all samples are the same, or all but one, which is left out once."""
    rows = [Held(np.random.default_rng(0).standard_normal((64, 3))), Held(np.ones((64, 3)))]
    rows[1].values[:alive] = 2
    layers = [compare.Layer("one", 0, cut) for cut in ("relu", "layer1")]
    wrong = ("the same for all samples; it cannot", "the same for all samples but those left out; it has no jackknife")

    told = pytest.raises(DataError, match=f"^similarity.linear_cka: layer one/0/layer1 on patches is {wrong[alive]}")
    with told, compare.named("linear_cka", "patches", layers):
        compare.measured(study(), "linear_cka", LinearCKA("biased", "flattened"), rows)


@pytest.mark.usefixtures("finished")
def test_a_store_of_other_weights_than_the_receivers_is_refused() -> None:
    network = read_network("one", 0, CPU)
    save_weights(network, paths.network("two", 0) / "weights.safetensors")

    with pytest.raises(StoreError, match=r"two/0/patches/eval: its weights is \w+; expected \w+: run dvc repro"):
        stage_cells.receiving("two", 0, "patches", "eval")


@pytest.mark.usefixtures("finished")
def test_a_store_in_the_place_of_another_is_refused() -> None:
    shutil.rmtree(paths.activations("one", 0, "patches"))
    shutil.copytree(paths.activations("two", 0, "patches"), paths.activations("one", 0, "patches"))

    for run in (lambda: stitch.run(study(), "one", "two", 0), lambda: compare.run(study(), "linear_cka")):
        with pytest.raises(StoreError, match="one/0/patches/eval: its model is two; expected one: run dvc repro"):
            run()


@pytest.mark.usefixtures("finished")
def test_stores_of_other_samples_are_refused() -> None:
    other = study(seed=1)
    dataset.run(other, "patches")
    shutil.rmtree(paths.activations("one", 0, "patches"))
    extract.run(other, "one", 0, "patches")

    with pytest.raises(StoreError, match=r"its inputs is \w+; expected \w+"):
        stitch.run(study(), "one", "two", 0)


@pytest.mark.usefixtures("finished")
def test_cuts_that_the_map_cannot_join_are_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stitch, "make", lambda group: pytest.fail("a stitch was trained"))

    with pytest.raises(ParamsError, match=r"stitch\.map: one/relu to two/layer2: places are to be kept"):
        stitch.run(study(stitch__pairs="all"), "one", "two", 0)


@pytest.mark.usefixtures("finished")
def test_all_pairs_of_cuts_are_joined_where_they_can_be() -> None:
    params = study(stitch__pairs="all", extract__cuts=["relu", "layer1"])
    for name in params.models:
        extract.run(params, name, 0, "patches")

    stitch.run(params, "one", "two", 0)

    cells = pandas.read_csv(paths.cells("one", "two", 0)).query("measure == 'accuracy' and objective == 'task'")
    assert set(zip(cells["sender_cut"], cells["receiver_cut"], strict=True)) == {
        (a, b) for a in ("relu", "layer1") for b in ("relu", "layer1")
    }


@pytest.mark.usefixtures("finished")
def test_a_packed_store_gives_the_same_stitches() -> None:
    raw = pandas.read_csv(paths.cells("one", "two", 0))
    for name in ("one", "two"):
        extract.run(study(extract__layout="packed"), name, 0, "patches")

    stitch.run(study(), "one", "two", 0)

    pandas.testing.assert_frame_equal(pandas.read_csv(paths.cells("one", "two", 0)), raw)


@pytest.mark.usefixtures("finished")
def test_a_plan_of_other_data_is_refused() -> None:
    dataset.run(study(seed=1), "patches")

    with pytest.raises(DataError, match=r"data/prepared/patches: is not what one was planned on; run dvc repro"):
        train.run(study(), "one", 0)


def test_random_weights_are_those_of_the_seed_and_learn_nothing() -> None:
    params = study(models__one__weights="random")
    prepare(params)

    for seed in (0, 1, 0):
        train.run(params, "one", seed)

    zero, one = (weights_digest(read_network("one", seed, CPU)) for seed in (0, 1))
    assert zero != one
    assert len(pandas.read_csv(paths.network("one", 0) / "curve.csv")) == 0


def test_weights_from_a_file_are_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    params = study(models__one__weights="random")
    prepare(params)
    train.run(params, "one", 5)
    given = read_network("one", 5, CPU)
    save_weights(given, Path("raw/given.safetensors"))
    monkeypatch.setenv("BACKSTITCH_DATA_ROOT", "raw")
    params = study(models__two__weights="given.safetensors")
    plan.run(params, "two")

    train.run(params, "two", 0)

    assert weights_digest(read_network("two", 0, CPU)) == weights_digest(given)


def test_a_plan_names_the_weights_file_that_is_missing() -> None:
    params = study(models__one__weights="given.safetensors")
    dataset.run(params, "patches")

    with pytest.raises(DataError, match=r"given\.safetensors: no such file; put the weights there"):
        plan.run(params, "one")


@pytest.mark.usefixtures("finished")
def test_what_does_not_fit_on_the_disk_is_refused_before_a_forward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    monkeypatch.setattr(extract, "extract", lambda *_: pytest.fail("the network was run"))

    with pytest.raises(ResourceError, match=r"extract: needs .* GB of disk; .* GB are free: extract fewer cuts"):
        extract.run(study(), "one", 0, "patches")


@pytest.mark.usefixtures("finished")
def test_what_does_not_fit_in_memory_is_refused_before_a_forward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "extract", lambda *_: pytest.fail("the network was run"))

    with pytest.raises(ResourceError, match=r"extract: needs .* GB of memory; machine\.memory_gb gives 1e-06"):
        extract.run(study(machine__memory_gb=1e-6), "one", 0, "patches")


@pytest.mark.usefixtures("finished")
def test_the_bill_is_shown_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    extract.run(study(), "one", 0, "patches")

    assert "bill: " in caplog.text
    assert "in 12 files" in caplog.text


MODES = [("recalibrated", "eval"), ("eval", "recalibrated"), ("recalibrated", "batch"), ("batch", "batch")]


def stitched(params: Params) -> pandas.DataFrame:
    """The rows of all stages from extraction on; a receiver's controls have its name in `control`."""
    for name in params.models:
        extract.run(params, name, 0, "patches")
    stitch.run(params, "one", "two", 0)
    audit.run(params, "one", "two", 0)
    control.run(params, "two", 0)
    return pandas.read_csv(paths.cells("one", "two", 0))


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize(("sender_bn", "receiver_bn"), MODES)
def test_what_is_kept_of_a_cell_is_the_network_that_was_tested(sender_bn: str, receiver_bn: str) -> None:
    """In every mode of BatchNorms: front, stitch and tail put together again have the accuracy that was written."""
    params = study(stitch__sender_bn=sender_bn, stitch__receiver_bn=receiver_bn, stitch__dropout=True)
    rows = stitched(params).query("measure == 'accuracy'")

    for cell, told in zip(grid.cells(params, "one", "two", 0), rows["value"], strict=True):
        parts = making.loaded(cell, CPU)
        labels = cell.source().labels("test")
        found = making.test(parts, parts.given(cell, CPU), labels, CPU)
        assert found["accuracy"] == told


@pytest.mark.usefixtures("finished")
def test_a_batch_receiver_expects_in_the_end_what_it_was_given() -> None:
    """Training through it moves its statistics, and not those of the receiver itself."""
    params = study(stitch__receiver_bn="batch", stitch__epochs=2)
    stitched(params)
    cell = next(c for c in grid.cells(params, "one", "two", 0) if c.objective == "task")

    moved, still = statistics(making.loaded(cell, CPU).tail), statistics(making.assembled(cell, CPU).tail)

    assert moved.keys() == still.keys()
    assert any(not torch.allclose(moved[name], still[name]) for name in moved)


@pytest.mark.usefixtures("finished")
def test_recalibrated_activations_are_those_of_the_recalibrated_network() -> None:
    stitched(study(stitch__sender_bn="recalibrated"))
    plain, found = Store(paths.store("one", 0, "patches")), Store(paths.store("one", 0, "patches", "recalibrated"))
    network, data = read_network("one", 0, CPU, "patches"), read_prepared(paths.dataset("patches"))
    told = pandas.read_csv(paths.unstitched("one", 0, "patches"))
    recalibrated = told.query("measure == 'recalibrated_accuracy'")["value"].tolist()

    assert found.identity.weights == weights_digest(network)
    assert found.identity.weights != plain.identity.weights
    assert not np.array_equal(found.rows("test", "layer1").read(0, 8), plain.rows("test", "layer1").read(0, 8))
    assert recalibrated == [accuracy(network, data.splits["test"], CPU)]


@pytest.mark.usefixtures("finished")
def test_the_recalibrated_baseline_is_there_in_every_mode_and_costs_no_store() -> None:
    told = pandas.read_csv(paths.unstitched("one", 0, "patches"))["measure"].tolist()

    assert told == [
        f"{name}{of}" for name in ("accuracy", "recalibrated_accuracy", "samples") for of in ("", "_of_2", "_of_3")
    ]
    assert not paths.store("one", 0, "patches", "recalibrated").exists()


@pytest.mark.usefixtures("finished")
def test_a_variant_may_be_there_several_times_with_other_options() -> None:
    """Under names of its own, in every family, through every stage to the report."""
    task, cka, rank = TINY["objectives"]["task"], TINY["similarity"]["linear_cka"], TINY["ranks"]["numerical"]
    params = study(
        objectives={"task": task, "task-sparse": {**task, "l1": 0.1}},
        controls={"noise": {"radius": 0.1, "classes": None}, "noise-wide": {"radius": 5.0, "classes": None}},
        similarity={"linear_cka": cka, "linear_cka-pooled": {**cka, "of": "pooled"}},
        ranks={"numerical": rank, "numerical-loose": {"threshold": 0.5}},
    )
    for sender in params.senders:
        stitch.run(params, sender, "two", 0)
        audit.run(params, sender, "two", 0)
    for index in params.similarity:
        compare.run(params, index)
    detect.run(params, "two", 0)
    control.run(params, "two", 0)
    trial.run(replace(params, trials={}))
    report.run(params)

    assert check.check(replace(params, root=str(TOP))) == []
    cells = pandas.read_csv("reports/tables/cells.csv")
    assert set(cells["objective"]) == {"task", "task-sparse"}
    assert np.any(cells["noise"] > cells["noise-wide"])
    assert np.any(cells["linear_cka"] != cells["linear_cka-pooled"])
    assert np.all(cells["numerical"] >= cells["numerical-loose"])
    held = pandas.read_csv("reports/tables/comparisons.csv")
    assert {"noise", "noise-wide"} <= set(held["baseline"])
    assert "noise (wide)" in Path("reports/index.html").read_text()


@pytest.mark.usefixtures("finished")
def test_controls_are_stitched_as_any_sender_is() -> None:
    params = study()
    control.run(params, "two", 0)
    rows = pandas.read_csv(paths.controls("two", 0) / "cells.csv").query("measure == 'accuracy'")
    audits = pandas.read_csv(paths.controls("two", 0) / "audits.csv")
    by_itself = rows.query("sender == 'self' and objective == 'direct'")["value"]
    unstitched = pandas.read_csv(paths.unstitched("two", 0, "patches")).set_index("measure")["value"]

    assert set(zip(rows["sender"], rows["objective"], strict=True)) == {
        ("self", "task"), ("self", "direct"), ("random", "task"), ("random", "direct"), ("noise", "task")
    }  # fmt: skip
    assert all(by_itself == unstitched["accuracy"])
    paired = rows["sender"] != "noise"
    assert len(audits) == (4 * len(params.ranks) + 5 * len(params.detectors)) * len(rows) + len(rows[paired])
    assert not list(paths.SCRATCH.glob("untrained/*"))  # generated, not stored


UNMADE = 1  # a seed that the finished study has not, so that no cell of it is kept


@pytest.mark.usefixtures("finished")
def test_cells_are_made_anew_where_the_receiver_does_something_else_behind_its_last_cut() -> None:
    """Weights that nobody trained stay as they are when the code changes, and so do activations before the change."""
    before = [*grid.cells(study(), "one", "two", 0), *control.cells(study(), "self", "two", 0)]
    recode("two")

    after = [*grid.cells(study(), "one", "two", 0), *control.cells(study(), "self", "two", 0)]

    assert not {cell.key for cell in before} & {cell.key for cell in after}


def recode(model: str) -> None:
    """As if the architecture's code had been edited where neither weights nor activations show it."""
    changed = json.loads(paths.plan(model).read_text()) | {"code": "of another day"}
    paths.plan(model).write_text(json.dumps(changed))


@pytest.mark.usefixtures("finished")
def test_an_extraction_is_not_gone_on_with_where_the_network_does_something_else_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []

    def killed(*given: object) -> None:
        begun.append(given[5])
        raise KeyboardInterrupt

    monkeypatch.setattr(extract, "extract", killed)
    for changes in (lambda: None, lambda: None, lambda: recode("one")):
        changes()
        with pytest.raises(KeyboardInterrupt):
            extract.run(study(), "one", 0, "patches")

    assert begun[0] == begun[1] != begun[2]


@pytest.mark.usefixtures("finished")
def test_each_control_is_solved_on_its_own_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Least squares leaves no more than the mean does, on what it is fitted to."""
    made = list[tuple[str, float]]()
    original = making._make

    def kept(cell: Cell, shared: pairings.Pairings) -> None:
        original(cell, shared)
        if cell.objective == "direct":
            made.append((cell.sender, unexplained(cell)))

    monkeypatch.setattr(making, "_make", kept)
    control.run(study(seed=UNMADE), "two", 0)

    assert {sender for sender, _ in made} == {"self", "random"}
    assert all(left == pytest.approx(0, abs=1e-9) for sender, left in made if sender == "self")
    assert all(0.01 < left < 1 for sender, left in made if sender == "random")


def unexplained(cell: Cell) -> float:
    """The share of the receiver's variance, around each feature's mean, that a stitch leaves on its training rows."""
    parts = making.loaded(cell, CPU)
    source, target = cell.source().rows("train", cell.sender_cut), cell.target().rows("train", cell.receiver_cut)
    wanted = by_place(target.read(0, target.shape[0]))
    given = torch.from_numpy(source.read(0, source.shape[0]).copy())
    apart = by_place(parts.stitch(given).detach().numpy()) - wanted
    return float(np.square(apart).sum() / np.square(wanted - wanted.mean((0, 1))).sum())


@pytest.mark.usefixtures("finished")
def test_each_control_has_a_probe_of_its_own() -> None:
    """Noise this wide is told apart by nothing linear; the receiver's own activations are."""
    params = study(controls__noise__radius=2.0, seed=UNMADE)
    control.run(params, "two", 0)

    probes = pandas.read_csv(paths.controls("two", 0) / "cells.csv").query("measure == 'probe'")
    told = {name: where(probes, sender=name)["value"].to_numpy().mean() for name in ("self", "noise")}
    assert told["self"] > 0.9 > 0.6 > told["noise"]


def probing(**changes: object) -> dict[str, Any]:
    """Changes to a study that have all numbers probed."""
    recipe = {**TINY["recipes"]["sgd"], "augment": [], **changes}
    return {"controls": {"whole_probe": {"recipe": "probing"}}, "recipes": {**TINY["recipes"], "probing": recipe}}


@pytest.mark.usefixtures("finished")
def test_a_probe_is_of_means_over_places() -> None:
    stitch.run(study(controls={"probe": {"decay": 0.05}}), "one", "two", 0)
    found = pandas.read_csv(paths.cells("one", "two", 0)).drop_duplicates(["sender_cut", "measure"])
    given = open_store("one", 0, "patches")

    assert any(len(given.shape(cut)) == 3 for cut in given.cuts)
    for cut in given.cuts:
        rows = {split: given.rows(split, cut) for split in ("train", "test")}
        read = {split: (rows[split].read(0, rows[split].shape[0]), given.labels(split)) for split in rows}
        pooled = {split: (x.mean(axis=tuple(range(2, x.ndim))), y) for split, (x, y) in read.items()}
        (value,) = where(found, sender_cut=cut, measure="probe")["value"]
        assert value == probe_accuracy(pooled["train"], pooled["test"], 0.05)


def probed(table: Path) -> dict[str, float]:
    """By cut; an objective says nothing of it."""
    found = pandas.read_csv(table).query("measure == 'whole_probe'").drop_duplicates(["sender_cut", "value"])
    return dict(zip(found["sender_cut"], found["value"], strict=True))


@pytest.mark.usefixtures("finished")
def test_a_probe_of_all_numbers_learns_from_the_training_split_by_the_recipe_that_it_names() -> None:
    """By hand on what the store holds, in the order that the seed gives; another recipe or seed tells others."""
    found = list[dict[str, float]]()
    for epochs, seed in ((2, 0), (1, 0), (2, UNMADE)):
        stitch.run(study(**probing(lr=1e-4, epochs=epochs), seed=seed), "one", "two", 0)
        found.append(probed(paths.cells("one", "two", 0)))
        given = open_store("one", 0, "patches")
        for cut in given.cuts:
            rows = {split: given.rows(split, cut) for split in ("train", "test")}
            flat = {
                split: torch.from_numpy(x.read(0, x.shape[0]).reshape(x.shape[0], -1).copy())
                for split, x in rows.items()
            }
            labels = {split: torch.from_numpy(given.labels(split)) for split in rows}
            own = seed_for(seed, "baseline", "whole_probe", 0, cut)
            with seeded(own):
                layer = nn.Linear(flat["train"].shape[1], 3)
            optimiser = torch.optim.SGD(layer.parameters(), 1e-4, 0.9, weight_decay=1e-4)
            for epoch in range(epochs):
                order = generator(own, "order", epoch).permutation(len(flat["train"]))
                for at in (order[start : start + 16] for start in range(0, len(order), 16)):
                    optimiser.zero_grad()
                    cross_entropy(layer(flat["train"][at]), labels["train"][at]).backward()
                    optimiser.step()
            right = layer(flat["test"]).argmax(1) == labels["test"]
            assert found[-1][cut] == float(right.double().mean())
    assert len({tuple(each.values()) for each in found}) == 3


@pytest.mark.usefixtures("finished")
def test_a_probe_of_all_numbers_is_the_same_whoever_asks_first() -> None:
    """It is kept for all who ask again, so no name of a sender or a receiver and no label of a stitch may decide it."""
    changes = probing(lr=1e-4, epochs=1)
    controls = {"self": {}, **changes["controls"]}
    plain = study(**{**changes, "controls": controls})
    shifted = replace(plain, stitch=replace(plain.stitch, labels=Labelling(None, 1, (2, 0, 1))))
    found = list[dict[str, float]]()
    for params, receiver in ((plain, "two"), (plain, "one"), (shifted, "two")):
        shutil.rmtree(paths.scratch("baseline", "any").parent, ignore_errors=True)
        stitch.run(params, "two", receiver, 0)
        found.append(probed(paths.cells("two", receiver, 0)))
    shutil.rmtree(paths.scratch("baseline", "any").parent)
    control.run(plain, "two", 0)
    found.append(probed(paths.controls("two", 0) / "cells.csv"))

    assert found[0] == found[1] == found[2] == found[3]
    assert len(set(found[0].values())) > 1


@pytest.mark.usefixtures("finished")
def test_what_a_worker_is_sent_to_measure_holds_no_images() -> None:
    """Not after its sender was looked at, either, which the parent does to see what is done."""
    params = study(**probing())
    for cell in (*grid.cells(params, "two", "two", 0), *control.cells(study(), "self", "two", 0)):
        measurement = baselines.Measurement(cell, "whole_probe", {"recipe": "probing"}, params.recipes)
        assert measurement.path
        assert measurement.sender.labels("test").size
        assert len(pickle.dumps(measurement)) < 10_000


@pytest.mark.usefixtures("finished")
def test_baselines_are_the_same_from_two_workers() -> None:
    found = list[dict[str, float]]()
    for slots in (1, 2):
        shutil.rmtree(paths.scratch("baseline", "any").parent, ignore_errors=True)
        params = study(**probing(lr=1e-4, epochs=1), machine__slots=slots)
        stitch.run(params, "one", "two", 0)
        found.append(probed(paths.cells("one", "two", 0)))
    assert found[0] == found[1]


@pytest.mark.usefixtures("finished")
def test_a_probe_that_diverges_is_no_number() -> None:
    with pytest.raises(TrainingError, match=r"whole_probe of one/relu: the loss is (nan|inf) in epoch \d; lower lr"):
        stitch.run(study(**probing(lr=1e38)), "one", "two", 0)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (probing(augment=["flip"]), "controls.whole_probe: recipes.probing should augment nothing"),
        (
            {"controls": {"whole_probe": {"recipe": "sdg"}}},
            "controls.whole_probe: sdg is not defined in recipes; did you mean sgd?",
        ),
    ],
)
def test_a_probe_that_lacks_its_recipe_is_found_by_check(changes: dict[str, Any], wanted: str) -> None:
    assert [str(error) for error in check.check(replace(study(**changes), root=str(TOP)))] == [wanted]


@pytest.mark.usefixtures("finished")
def test_a_probe_that_there_is_no_room_for_is_refused_before_anything_is_stitched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stitch, "run_tasks", lambda *_: pytest.fail("a stitch was trained"))
    params = study(controls={"probe": {"decay": 0.05}}, machine__memory_gb=1e-5)

    with pytest.raises(ResourceError, match=r"controls\.probe: \d+ activations of one/.*memory_gb gives 1e-05"):
        stitch.run(params, "one", "two", 0)


@pytest.mark.usefixtures("finished")
def test_a_group_cut_short_goes_on_with_the_sums_of_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks hold fewer rows the more cuts are read together, and so sums round by the number of cuts."""
    sums = list[list[bytes]]()
    original = pairings.moments

    def kept(*arguments: Any) -> list[Moments]:
        found = original(*arguments)
        sums.append([each.cross.tobytes() for each in found])
        return found

    monkeypatch.setattr(pairings, "moments", kept)
    given = {"stitch__pairs": "all", "stitches__conv1x1__places": "bilinear", "objectives": {"direct": TINY_DIRECT}}
    params = study(**given, seed=UNMADE)
    group = grid.groups(grid.cells(params, "one", "two", 0))[0]
    making.make(group)
    for cell in group[1:]:
        (cell.folder / "scores.json").unlink()

    making.make(group)

    whole, resumed = sums[: len(sums) // 2], sums[len(sums) // 2 :]
    assert [len(each) for each in whole] == [2, 1]  # two of the cuts have the sender's places
    assert resumed == whole


@pytest.mark.usefixtures("finished")
def test_every_cell_tells_what_a_probe_of_its_sender_does_and_on_how_many_images() -> None:
    rows = pandas.read_csv(paths.cells("one", "two", 0))

    wide = rows.pivot(index=["sender_cut", "objective"], columns="measure", values="value")
    assert set(wide.columns) == {"accuracy", "loss", "samples", "labelled", "probe"}
    assert set(wide["samples"]) == {64}
    assert wide["probe"].between(0, 1).all()


@pytest.mark.usefixtures("finished")
def test_a_stitch_learns_labels_that_are_permuted() -> None:
    """Smith et al., appendix E: the tail answers by other names, and only the stitch can know."""
    recipe = {"stitch__epochs": 60, "stitch__lr": 0.03}
    plain = study(**recipe, senders=["two"])
    turned = study(**recipe, senders=["two"], stitch__labels__offset=1)
    found = {}
    for name, params in (("plain", plain), ("turned", turned)):
        stitch.run(params, "two", "two", 0)
        rows = pandas.read_csv(paths.cells("two", "two", 0))
        rows = rows.query("measure == 'accuracy' and sender_cut == 'layer2'")
        found[name] = rows.set_index("objective")["value"]

    assert found["turned"]["task"] > 0.8 * found["plain"]["task"]
    assert found["turned"]["direct"] < 0.3  # it knows no labels, and answers by the old names


@pytest.mark.usefixtures("finished")
def test_an_objective_may_have_an_offset_of_its_own() -> None:
    """On top of the study's: of three classes, 1 + 2 are none. Its cell's name seeds it, so the two are not equal."""
    task = TINY["objectives"]["task"]
    recipe = {"stitch__epochs": 60, "stitch__lr": 0.03, "senders": ["two"], "stitch__labels__offset": 1}
    params = study(**recipe, objectives={"task": task, "task-o2": {**task, "offset": 2}})
    stitch.run(params, "two", "two", 0)

    cells = {cell.objective: cell for cell in grid.cells(params, "two", "two", 0) if cell.sender_cut == "layer2"}
    own = open_store("two", 0, "patches").labels("test")

    assert np.array_equal(cells["task-o2"].source().labels("test"), own)
    assert np.array_equal(cells["task"].source().labels("test"), (own + 1) % 3)
    answers_ = {}
    for name, cell in cells.items():
        parts = making.loaded(cell, CPU)
        given = parts.stitch(torch.tensor(parts.given(cell, CPU).read(0, 64)))
        answers_[name] = parts.tail(given).argmax(1).numpy()
    accuracy_ = {name: float((answers_[name] == cells[name].source().labels("test")).mean()) for name in cells}
    assert min(accuracy_.values()) > 0.8 and np.mean(answers_["task"] == answers_["task-o2"]) < 0.2


@pytest.mark.usefixtures("finished")
def test_samples_of_some_classes_only_are_stitched_and_tested() -> None:
    stitch.run(study(stitch__labels__classes=2), "one", "two", 0)

    rows = pandas.read_csv(paths.cells("one", "two", 0))
    kept = int((read_prepared(paths.dataset("patches")).splits["test"].labels < 2).sum())
    assert set(rows.query("measure == 'samples'")["value"]) == {kept}


@pytest.mark.usefixtures("finished")
def test_what_stitches_of_some_classes_are_held_against_is_of_those_classes() -> None:
    params = study(stitch__labels__classes=2)
    stitch.run(params, "two", "two", 0)
    audit.run(params, "two", "two", 0)
    images = read_prepared(paths.dataset("patches")).splits["test"]
    right = answers(read_network("two", 0, CPU), images, CPU) == images.labels
    told = dict(pandas.read_csv(paths.unstitched("two", 0, "patches"))[["measure", "value"]].itertuples(index=False))
    by_itself = pandas.read_csv(paths.cells("two", "two", 0)).query("objective == 'direct' and measure == 'accuracy'")
    ranks = (
        pandas.read_csv(paths.audit("two", "two", 0) / "rows.csv")
        .query("objective == 'direct'")
        .set_index("measure")["value"]
    )

    assert told["accuracy_of_2"] == pytest.approx(right[images.labels < 2].mean())
    assert set(by_itself["value"]) == {told["accuracy_of_2"]}
    assert list(ranks["numerical"]) == list(ranks["receiver_numerical"])


@pytest.mark.usefixtures("finished")
def test_direct_cells_of_one_source_share_their_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass over a sender's cut for all the receiver's cuts that have its places."""
    passes = []
    original = pairings.moments
    monkeypatch.setattr(pairings, "moments", lambda *args: passes.append(len(args[1])) or original(*args))
    params = study(stitch__pairs="all", stitches__conv1x1__places="bilinear", objectives={"direct": TINY_DIRECT})

    stitch.run(params, "one", "two", 0)

    sizes = {Store(paths.store("two", 0, "patches")).shape(cut)[1:] for cut in ("relu", "layer1", "layer2")}
    assert len(passes) == 3 * len(sizes)
    assert sum(passes) == 9


@pytest.mark.usefixtures("finished")
def test_the_recipe_moves_no_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    stitch.run(study(), "one", "two", 0)
    original = making._make
    monkeypatch.setattr(making, "_make", lambda cell, shared: made.append(cell.objective) or original(cell, shared))

    stitch.run(study(stitch__lr=0.02), "one", "two", 0)

    assert set(made) == {"task"}


TINY_DIRECT = TINY["objectives"]["direct"]


ENERGY = {
    "pretraining": "plain", "finetuning": "plain", "margin_inside": -4.0, "margin_outside": -1.0, "weight": 0.1,
    "temperature": 1.0, "maps": {"size": 4, "blocks": [1], "width": 4}, "tokens": {"depth": 1, "heads": 1},
    "flat": {"depth": 1, "width": 8},
}  # fmt: skip


def watched() -> Params:
    """With a detector that is trained, to tell patches from others."""
    others = {**TINY["datasets"], "others": {**TINY["datasets"]["patches"], "categories": 5}}
    return study(
        datasets=others, extract__datasets=["patches", "others"], detection__auxiliary="others",
        recipes={**TINY["recipes"], "plain": {**TINY["recipes"]["sgd"], "augment": []}},
        detectors={**TINY["detectors"], "energy": ENERGY},
    )  # fmt: skip


@pytest.mark.usefixtures("finished")
def test_detectors_are_fitted_once_and_asked_by_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    params = watched()
    dataset.run(params, "others")
    extract.run(params, "two", 0, "others")
    detect.run(params, "two", 0)
    folder = paths.detectors("two", 0)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(detecting, "fit", lambda *_: pytest.fail("trained again"))
    detect.run(params, "two", 0)
    audit.run(params, "one", "two", 0)

    rows = pandas.read_csv(paths.audit("one", "two", 0) / "rows.csv")
    trust = pandas.read_csv(folder / "trust.csv")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert set(trust["measure"]) == {"held_out", "auxiliary"}
    assert trust["value"].between(0, 1).all()
    for name in params.detectors:
        found = {end: rows[rows["measure"] == f"auroc_{name}{end}"]["value"].tolist() for end in ("_low", "", "_high")}
        assert len(found[""]) == 6
        assert all(low <= middle <= high for low, middle, high in zip(*found.values(), strict=True))


GENERATED = {
    "noise": {"pattern": "rademacher", "categories": 1, "train": 48, "test": 32, "channels": 3, "size": 8}
    | {"mean": [0.5] * 3, "std": [0.25] * 3},
    "scrambled": {"source": TINY["datasets"]["patches"], "patch": 1},
}


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize("kind", GENERATED)
def test_generated_data_serve_to_train_detectors_and_to_say_how_far_to_trust_them(kind: str) -> None:
    generated = {**TINY["datasets"], "generated": {"kind": kind, **GENERATED[kind]}}
    params = watched()
    params = replace(
        params, datasets=generated, extract=replace(params.extract, datasets=("patches", "generated")),
        detection=replace(params.detection, auxiliary="generated"),
    )  # fmt: skip

    assert not check.check(replace(params, root=str(TOP)))
    dataset.run(params, "generated")
    extract.run(params, "two", 0, "generated")
    detect.run(params, "two", 0)

    trust = pandas.read_csv(paths.detectors("two", 0) / "trust.csv").query("measure == 'auxiliary'")
    assert sorted(zip(trust["cut"], trust["detector"], strict=True)) == sorted(
        product(("relu", "layer1", "layer2"), params.detectors)
    )
    assert trust["value"].between(0, 1).all()
    assert min(trust.query("detector == 'nearest'")["value"].tolist()) > 0.9


@pytest.mark.usefixtures("finished")
def test_what_detectors_lack_is_found_by_check() -> None:
    at_home, unknown = watched(), watched()
    at_home = replace(at_home, detection=replace(at_home.detection, auxiliary="patches"))
    unknown = replace(unknown, detectors={"energy": {**ENERGY, "finetuning": "sgd"}})

    assert any("it should be another dataset" in str(error) for error in check.check(at_home))
    assert any("recipes.sgd should augment nothing" in str(error) for error in check.check(unknown))


@pytest.mark.usefixtures("finished")
def test_a_network_stitched_into_itself_by_least_squares_is_not_out_of_its_distribution() -> None:
    audit.run(study(), "two", "two", 0)
    rows = pandas.read_csv(paths.audit("two", "two", 0) / "rows.csv").query("objective == 'direct'")

    for name in TINY["detectors"]:
        found = rows[rows["measure"] == f"auroc_{name}"]["value"].tolist()
        assert found == pytest.approx([0.5] * len(found), abs=0.02)
    distances = rows[rows["measure"] == "distance"]["value"].tolist()
    assert len(distances) == 3
    assert max(distances) < 1e-6


@pytest.mark.usefixtures("finished")
def test_bars_count_the_scores_that_aurocs_are_of() -> None:
    params = study()
    audit.run(params, "one", "two", 0)
    cell = stitch.cells(params, "one", "two", 0)[0]
    judged = {found.detector: found for found in audit.audited([cell], params, "two", 0)[0].judged}["mahalanobis"]
    drawn = pandas.read_csv(paths.audit("one", "two", 0) / "bars.csv").query("detector == 'mahalanobis'")
    here = where(drawn, sender_cut=cell.sender_cut, objective=cell.objective)

    edges = [*here["low"], here["high"].max()]
    assert here["own"].tolist() == np.histogram(judged.own, edges)[0].tolist()
    assert here["stitched"].tolist() == np.histogram(judged.stitched, edges)[0].tolist()
    assert (here["own"].sum(), here["stitched"].sum()) == (64, 64)


@pytest.mark.usefixtures("finished")
def test_any_rank_can_be_had_from_the_spectra_that_audits_keep() -> None:
    params = study()
    audit.run(params, "one", "two", 0)
    folder = paths.audit("one", "two", 0)
    rows, spectra = pandas.read_csv(folder / "rows.csv"), read(folder / "spectra.safetensors")

    for cell in stitch.cells(params, "one", "two", 0):
        here = where(rows, objective=cell.objective, sender_cut=cell.sender_cut, receiver_cut=cell.receiver_cut)
        numbers = dict(here[["measure", "value"]].itertuples(index=False))
        for of in ("", "receiver_", "cut_", "receiver_cut_"):
            kept = spectra[f"one--{cell.objective}--{cell.sender_cut}--{cell.receiver_cut}--{of}spectrum"].numpy()
            assert Numerical(**params.ranks["numerical"])(kept) == numbers[f"{of}numerical"]


def test_what_there_is_no_room_for_is_worked_out_when_it_is_read() -> None:
    rows = Held(np.random.default_rng(0).standard_normal((700, 3, 4, 4)).astype(np.float32))
    module = torch.nn.Conv2d(3, 5, 1).requires_grad_(False)

    held, passed = (through(module, rows, CPU, memory) for memory in (10**9, 10**4))

    assert (type(held), type(passed)) == (Held, Passed)
    assert held.shape == passed.shape == (700, 5, 4, 4)
    assert passed.read(100, 690) == pytest.approx(held.read(100, 690), abs=1e-6)
    assert passed.take(np.array([3, 699])) == pytest.approx(held.take(np.array([3, 699])), abs=1e-6)


@pytest.mark.parametrize("scores", [[0.0, 1.0, 5.0], [1e-3, 1.0, 1e5], [-2.0, -2.0], [3.0, 3.0]])
def test_every_score_is_in_a_bar(scores: list[float]) -> None:
    found = list(bars(Judged("d", np.array(scores), np.array(scores[:1]), paired=False)))

    assert sum(bar["own"] for bar in found) == len(scores)
    assert sum(bar["stitched"] for bar in found) == 1
    assert all(bar["low"] < bar["high"] for bar in found)


@pytest.mark.parametrize("memory", [1, 10**9])
def test_a_distance_is_the_residual_over_the_spread(memory: int) -> None:
    random = np.random.default_rng(0)
    stitched, own = (random.standard_normal((40, 3, 2, 2)).astype(np.float32) for _ in range(2))
    flat = (rows.reshape(40, -1).astype(np.float64) for rows in (own, stitched))
    wanted = 1 - r2_score(*flat, multioutput="variance_weighted")

    assert audit.distance(Held(stitched), Held(own), memory) == pytest.approx(wanted, rel=1e-12)
    assert audit.distance(Held(own), Held(own), memory) == 0
    assert audit.distance(Held(np.zeros_like(own) + own.mean(0)), Held(own), memory) == pytest.approx(1, abs=1e-6)
    assert np.isnan(audit.distance(Held(own), Held(np.zeros_like(own)), memory))
    assert audit.error(Held(stitched), Held(own), memory) == pytest.approx(np.square(stitched - own).mean(), rel=1e-6)


@pytest.mark.usefixtures("finished")
def test_errors_are_to_the_receivers_own_and_between_objectives() -> None:
    params = study(audit__errors=True, senders=["one"])
    audit.run(params, "one", "two", 0)

    rows = pandas.read_csv(paths.audit("one", "two", 0) / "rows.csv")
    wide = rows.pivot(index=["sender_cut", "objective"], columns="measure", values="value")
    (cell,) = (c for c in grid.cells(params, "one", "two", 0) if (c.sender_cut, c.objective) == ("layer1", "direct"))
    parts = making.loaded(cell, CPU)
    own = cell.target().rows("test", "layer1").read(0, 64)
    made = through(parts.stitch, parts.given(cell, CPU), CPU, 10**9).read(0, 64)
    assert wide.loc[("layer1", "direct"), "error"] == pytest.approx(np.square(made - own).mean(), rel=1e-5)
    assert wide.loc[("layer1", "direct"), "error_task"] == wide.loc[("layer1", "task"), "error_direct"] > 0
    direct, task = (wide.xs(name, level="objective") for name in ("direct", "task"))
    assert np.all(direct["error"] <= task["error"])


@pytest.mark.usefixtures("finished")
def test_an_objective_may_name_a_recipe_of_its_own() -> None:
    task, sgd = TINY["objectives"]["task"], TINY["recipes"]["sgd"]
    recipes = {**TINY["recipes"], "long": {**sgd, "lr": 0.5, "epochs": 7, "augment": []}}
    params = study(recipes=recipes, objectives={"task": task, "task-long": {**task, "recipe": "long"}})

    cells = grid.cells(params, "one", "two", 0)

    epochs = {cell.objective: (cell.options.recipe.epochs, cell.options.recipe.lr) for cell in cells}
    assert epochs == {"task": (TINY["stitch"]["epochs"], TINY["stitch"]["lr"]), "task-long": (7, 0.5)}
    assert {cell.options.data for cell in cells} == {"patches"}
