import csv
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from pipeline import journal, paths
from pipeline.errors import DataError, ParamsError
from pipeline.figures.base import Evidence
from pipeline.figures.example import CUTS, MODELS, SEEDS, example_evidence
from pipeline.figures.tables import chosen, where
from pipeline.loading import typed_params
from pipeline.params import Params
from pipeline.stages.report import put, run, tidy_inputs
from pipeline.verdicts import MEANINGS

CHROMIUM = shutil.which("chromium")
RECIPE = {
    "optimiser": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 0.0001, "decay": "all", "schedule": "constant",
    "milestones": [], "warmup_epochs": 0, "epochs": 4, "batch": 128,
}  # fmt: skip
TABLES = (
    "audits", "cells", "comparisons", "control_audits", "controls", "detectors", "networks", "similarity",
    "similarity_over_seeds", "trials", "verdicts",
)  # fmt: skip
FIGURES = {
    "swatches": {"width": 7.0, "per_class": 1, "classes": 10},
    "accuracy_by_cut": {"width": 7.0},
    "rank_by_cut": {"width": 7.0, "rank": "numerical", "scale": "linear"},
    "scores_by_cut": {"width": 7.0, "detector": "mahalanobis"},
    "cka": {"width": 7.5, "index": "linear_cka", "value": "raw"},
    "learning_curves": {"width": 6.0, "scale": "log"},
}


def study(**changes: object) -> Params:
    """Params of the study whose rows `example_evidence` makes up."""
    model = {"architecture": "small", "recipe": "plain", "weights": "trained"}
    document = {
        "root": ".",
        "study": {"title": "Colour or shape?", "question": "Does stitching tell <colour> from shape & digit?"},
        "seed": 7,
        "machine": {"device": "cpu", "memory_gb": 1, "threads": 1, "slots": 1},
        "data": {"root": "data/raw", "download": False},
        "seeds": list(SEEDS),
        "datasets": {name: {} for name in MODELS},
        "architectures": {"small": {}},
        "recipes": {"plain": {**RECIPE, "augment": []}},
        "models": {name: {**model, "dataset": name} for name in MODELS},
        "extract": {"datasets": ["correlated"], "cuts": ["*"], "layout": "raw", "dtype": "float32", "batch": 64},
        "senders": list(MODELS),
        "receivers": ["digit"],
        "stitch": {
            **RECIPE,
            "data": "correlated",
            "towards": "correlated",
            "map": "conv1x1",
            "pairs": "matching",
            "sender_bn": "eval",
            "receiver_bn": "eval",
            "dropout": False,
            "labels": {"classes": None, "offset": 0, "permutation": None},
        },
        "stitches": {"conv1x1": {}},
        "objectives": {"task": {}, "direct": {}},
        "controls": {"random": {}, "noise": {}},
        "detectors": {"mahalanobis": {}},
        "detection": {"auxiliary": "correlated", "confidence": 0.95, "resamples": 100},
        "verdict": {"confidence": 0.95, "margin": 0.02, "auroc": 0.75, "rank_ratio": 1.5},
        "audit": {"ranks_at_cut": False, "errors": False},
        "ranks": {"numerical": {}},
        "similarity": {"linear_cka": {"estimator": "biased", "of": "flattened"}},
        "trials": {"shortcut": {}},
        "comparison": {"permutations": 0, "groups": 0},
        "published": None,
        "claims": [],
        "figures": FIGURES,
    }
    return typed_params(document | changes)


def write(path: Path, rows: DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(path, index=False)


def lay_out(evidence: Evidence) -> None:
    """What the stages before would have written, in the present folder."""
    for sender in MODELS:
        for seed in SEEDS:
            write(paths.cells(sender, "digit", seed), where(evidence.cells, sender=sender, seed=seed))
            for name, table in (("rows", evidence.audits), ("bars", evidence.bars)):
                write(paths.audit(sender, "digit", seed) / f"{name}.csv", where(table, sender=sender, seed=seed))
            networks = where(evidence.networks, model=sender, seed=seed)
            curves = where(evidence.curves, model=sender, seed=seed)
            folder = paths.network(sender, seed)
            write(folder / "rows.csv", where(networks, data=sender))
            (folder / "weights.safetensors").write_bytes(f"{sender} {seed}".encode())
            write(folder / "curve.csv", curves.drop(columns=["model", "seed"]))
            write(paths.unstitched(sender, seed, "correlated"), where(networks, data="correlated"))
    for seed in SEEDS:
        noise = where(evidence.bars, sender="noise")
        for name, table in (("cells", evidence.controls), ("audits", evidence.control_audits), ("bars", noise)):
            write(paths.controls("digit", seed) / f"{name}.csv", where(table, seed=seed))
        write(paths.detectors("digit", seed) / "trust.csv", where(evidence.detectors, seed=seed))
    write(paths.comparison("linear_cka"), evidence.similarity)
    write(paths.trial("shortcut"), evidence.trials)
    for name, swatches in evidence.swatches.items():
        folder = paths.dataset(name) / "train"
        folder.mkdir(parents=True)
        images = [image for examples in swatches.values() for image in examples]
        np.save(folder / "inputs.npy", np.moveaxis(np.stack(images), -1, 1))
        np.save(folder / "labels.npy", np.repeat(np.arange(10), 2))
        meta = {"classes": list(swatches), "digest": f"sha256-of-{name}"}
        (paths.dataset(name) / "meta.json").write_text(json.dumps(meta))


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study's folder in which all but the report was run."""
    monkeypatch.chdir(tmp_path)
    lay_out(example_evidence())
    return tmp_path


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder with its report; shared, so that figures are drawn once."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lay_out(example_evidence())
        journal.record("stitch", ["colour", "digit", 0], 12.5, [paths.cells("colour", "digit", 0)])
        journal.record("stitch", ["removed", "digit", 0], 5000.0, [])
        run(study())
    return folder / "reports"


def test_the_report_has_every_configured_figure_and_table(reported: Path):
    files = {path.relative_to(reported).as_posix() for path in reported.rglob("*") if path.is_file()}

    assert files == {
        "index.html",
        "metrics.json",
        "plots/accuracy_by_cut.csv",
        *(f"tables/{name}.csv" for name in TABLES),
        *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("svg", "pdf")),
    }


def test_the_page_says_which_index_to_believe_where_that_was_tried(reported: Path):
    page = (reported / "index.html").read_text()

    assert "<h2>Which index can I believe?</h2>" in page
    assert '<th scope="row">linear cka</th><td class="number">0.88 (p 0.01)</td>' in page


def test_a_study_without_trials_has_no_such_section_and_no_table(finished: Path):
    run(study(trials={}))

    assert "Which index can I believe?" not in (paths.REPORTS / "index.html").read_text()
    assert not (paths.REPORTS / "tables/trials.csv").exists()
    assert not paths.trial("shortcut").exists()


def test_a_page_of_too_many_verdicts_counts_them_and_leaves_cells_to_the_tables(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.stages.report._MOST", 3)
    run(study())
    text = (finished / "reports/index.html").read_text()
    rows = json.loads(text.split('id="rows">')[1].split("</script>")[0])

    assert list(rows) == ["networks"]
    assert "verdicts themselves are in tables/verdicts.csv" in text
    assert 'id="cells"' not in text
    assert len((finished / "reports/tables/verdicts.csv").read_text().splitlines()) > 4


def test_a_stitched_accuracy_never_stands_alone(reported: Path):
    with (reported / "tables" / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == len(MODELS) * len(SEEDS) * len(CUTS) * 2
    beside = ("accuracy", "unstitched", "difference", "own", "recalibrated", "random", "numerical", "linear_cka")
    assert all(row[column] for row in rows for column in beside)
    assert all(bool(row["noise"]) == (row["objective"] == "task") for row in rows)  # noise has nothing to match


def test_a_similarity_stands_beside_its_calibrated_value_and_its_deviation_over_seeds(reported: Path):
    page = (reported / "index.html").read_text()
    headings = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', page)
    rows = where(example_evidence().similarity, model="bw", cut="layer1", other_model="digit", other_cut="layer1")
    own = chosen(rows, rows["seed"] == rows["other_seed"])
    first, second = where(own, measure="linear_cka")["value"]

    assert [text for text in headings if "linear cka" in text] == [
        "linear cka",
        "linear cka calibrated",
        "linear cka, sender to receiver",
        "linear cka calibrated, sender to receiver",
    ]
    assert f"{(first + second) / 2:.3f} ± {abs(first - second) / 2**0.5:.3f}" in page


def test_deviations_over_seeds_are_those_of_pairs_of_one_seed(reported: Path):
    with (reported / "tables" / "similarity_over_seeds.csv").open() as file:
        found = [row for row in csv.DictReader(file) if row["measure"] == "linear_cka"]
    rows = where(example_evidence().similarity, measure="linear_cka", model="bw", cut="conv1", other_model="colour")
    own = where(chosen(rows, rows["seed"] == rows["other_seed"]), other_cut="layer2")["value"].tolist()

    assert len(found) == (len(MODELS) * len(CUTS)) ** 2
    (row,) = [
        row for row in found
        if [row[key] for key in ("model", "cut", "other_model", "other_cut")] == ["bw", "conv1", "colour", "layer2"]
    ]  # fmt: skip
    assert row["seeds"] == "2"
    assert float(row["mean"]) == pytest.approx(sum(own) / 2, abs=1e-6)
    assert float(row["deviation"]) == pytest.approx(abs(own[0] - own[1]) / 2**0.5, abs=1e-6)


def test_every_pair_of_cuts_has_a_verdict_with_the_numbers_it_rests_on(reported: Path):
    with (reported / "tables" / "verdicts.csv").open() as file:
        judged = list(csv.DictReader(file))
    with (reported / "tables" / "comparisons.csv").open() as file:
        held = list(csv.DictReader(file))

    pairs = len(MODELS) * len(CUTS) * 2
    assert len(judged) == pairs
    assert len(held) == pairs * 4 + pairs // 2  # receiver, own, recalibrated, random; noise by task only
    assert {row["verdict"] for row in judged} <= set(MEANINGS)
    assert all(row["words"] for row in judged)


def test_metrics_agree_with_the_rows(reported: Path):
    found = json.loads((reported / "metrics.json").read_text())["digit"]["direct"]
    direct = where(example_evidence().cells, objective="direct", measure="accuracy")
    baseline = [{0: 0.98, 1: 0.976}[seed] for seed in direct["seed"]]

    assert found["accuracy_mean"] == pytest.approx(sum(direct["value"]) / len(direct), abs=1e-6)
    assert found["accuracy_min"] == min(direct["value"])
    assert found["unstitched_accuracy"] == pytest.approx(0.978)
    assert found["share_at_or_above_unstitched"] == pytest.approx(sum(direct["value"] >= baseline) / len(direct))


def test_the_page_names_runs_of_this_study_only(reported: Path):
    text = (reported / "index.html").read_text()

    assert "12.5 s" in text
    assert "83.3 min" not in text  # of a variant since removed
    assert "not run on this machine" in text  # of every other stage
    assert "sha256-of-bw" in text
    assert hashlib.sha256(b"colour_only 1").hexdigest() in text  # of its weights


def test_a_study_without_a_journal_says_so(finished: Path):
    run(study(figures={"learning_curves": FIGURES["learning_curves"]}))

    text = (finished / "reports" / "index.html").read_text()
    assert "Not run on this machine: the results were made elsewhere" in text
    assert not list((finished / "reports").glob(".*"))


def test_networks_that_were_not_trained_here_have_no_curve_and_do_no_harm(finished: Path):
    for model in MODELS:
        for seed in SEEDS:
            write(paths.network(model, seed) / "curve.csv", DataFrame(columns=["epoch", "rate", "loss"]))
    run(study(figures={"learning_curves": FIGURES["learning_curves"]}))

    assert (finished / "reports" / "figures" / "learning_curves.svg").exists()


def test_a_second_report_is_the_same_to_the_byte(finished: Path):
    params = study(figures={name: FIGURES[name] for name in ("cka", "swatches")})
    run(params)
    first = {path: path.read_bytes() for path in (finished / "reports").rglob("*") if path.is_file()}
    run(params)

    assert {path: path.read_bytes() for path in (finished / "reports").rglob("*") if path.is_file()} == first


def test_figures_that_params_no_longer_name_leave_the_report(tmp_path: Path):
    put(tmp_path, {"figures/old.svg": b"old", "index.html": b"old"})
    (tmp_path / "mine.txt").write_text("kept")
    put(tmp_path, {"figures/new.svg": b"new", "index.html": b"new"})

    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"figures/new.svg", "index.html", "mine.txt"}
    assert (tmp_path / "index.html").read_bytes() == b"new"


def test_a_report_that_failed_half_way_leaves_the_old_one(tmp_path: Path):
    put(tmp_path, {"tables/cells.csv": b"old", "index.html": b"old"})
    with pytest.raises(TypeError):
        put(tmp_path, {"tables/cells.csv": b"new", "index.html": None})  # pyright: ignore[reportArgumentType]

    assert (tmp_path / "tables" / "cells.csv").read_bytes() == b"old"
    assert (tmp_path / "index.html").read_bytes() == b"old"


def test_results_of_removed_variants_are_deleted_and_no_others(finished: Path):
    before = {path for path in finished.rglob("*") if path.is_file()}
    removed = tidy_inputs(study(seeds=[0], senders=["colour", "digit"]))

    gone = before - {path for path in finished.rglob("*") if path.is_file()}
    assert paths.network("bw", 1) in removed
    assert {path.relative_to(finished) for path in gone if "cells" in path.parts} == {
        paths.cells(sender, "digit", seed)
        for sender in MODELS
        for seed in SEEDS
        if seed == 1 or sender not in ("colour", "digit")
    }
    assert paths.cells("colour", "digit", 0).exists()
    assert paths.unstitched("bw", 0, "correlated").exists()  # no sender, but still a model


def test_tidying_a_study_as_it_is_deletes_nothing(finished: Path):
    assert tidy_inputs(study()) == []


def test_a_missing_table_is_named(finished: Path):
    (paths.audit("bw", "digit", 1) / "rows.csv").unlink()

    with pytest.raises(DataError, match=r"cache/audits/bw/digit/1/rows\.csv: no such file; `dvc repro` makes it"):
        run(study())


def test_missing_prepared_data_are_named(finished: Path):
    (paths.dataset("bw") / "train" / "labels.npy").unlink()

    with pytest.raises(DataError, match=r"prepared/bw/train/labels\.npy: no such file; `dvc repro` makes it"):
        run(study())


def test_a_table_without_a_column_is_refused(finished: Path):
    write(paths.network("bw", 0) / "curve.csv", DataFrame({"epoch": [1], "loss": [0.5]}))

    with pytest.raises(DataError, match=r"networks/bw/0/curve\.csv: has no column rate; delete it"):
        run(study())


def test_a_table_with_words_for_numbers_is_refused(finished: Path):
    write(paths.network("bw", 0) / "curve.csv", DataFrame({"epoch": [1], "rate": ["fast"], "loss": [0.5]}))

    with pytest.raises(DataError, match=r"networks/bw/0/curve\.csv: is not a table of numbers: .*fast"):
        run(study())


def test_a_cell_without_its_receivers_own_accuracy_is_refused(finished: Path):
    file = paths.unstitched("digit", 1, "correlated")
    write(file, DataFrame(columns=["model", "seed", "data", "measure", "value"]))

    with pytest.raises(DataError, match="networks: has no row for receiver digit, seed 1, data correlated"):
        run(study())


def test_a_number_that_is_there_twice_is_refused(finished: Path):
    file = paths.cells("bw", "digit", 0)
    file.write_text(file.read_text() + file.read_text().splitlines()[1] + "\n")

    with pytest.raises(DataError, match=r"sender bw, receiver digit, .*: has accuracy twice; it should have it once"):
        run(study())


def test_a_figure_of_a_rank_that_was_not_measured_is_refused(finished: Path):
    figures = {"rank_by_cut": {**FIGURES["rank_by_cut"], "rank": "numercal"}}

    with pytest.raises(
        ParamsError, match=r"figures\.rank_by_cut\.rank: numercal was not measured; did you mean numerical"
    ):
        run(study(figures=figures))


def test_names_that_look_like_numbers_stay_names(finished: Path):
    for seed in SEEDS:
        for path in (paths.cells("bw", "digit", seed), paths.audit("bw", "digit", seed) / "rows.csv"):
            path.write_text(path.read_text().replace("layer1", "1").replace("layer2", "nan"))
    compared = paths.comparison("linear_cka")
    text = compared.read_text()
    for old, new in (("layer1", "1"), ("layer2", "nan")):
        text += "".join(line.replace(old, new) + "\n" for line in text.splitlines()[1:] if old in line)
    compared.write_text("\n".join(dict.fromkeys(text.splitlines())) + "\n")

    run(study(figures={"learning_curves": FIGURES["learning_curves"]}))

    table = (finished / "reports" / "tables" / "cells.csv").read_text()
    assert "bw,digit,0,correlated,1,1," in table
    assert "bw,digit,0,correlated,nan,nan," in table


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_every_figure_and_complains_of_nothing(reported: Path, tmp_path: Path):
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *quiet]
    command += [f"--user-data-dir={tmp_path}", "--enable-logging=stderr", "--dump-dom"]
    address = (reported / "index.html").resolve().as_uri()
    shown = subprocess.run([*command, address], capture_output=True, text=True, timeout=120, check=True)

    assert shown.stdout.count('<svg role="img"') == len(FIGURES)
    assert shown.stdout.count("<tr>") > len(MODELS) * len(SEEDS) * len(CUTS) * 2
    assert "CONSOLE" not in shown.stderr  # errors of the page, refused and failed requests among them
