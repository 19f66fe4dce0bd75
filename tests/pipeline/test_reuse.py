"""What DVC executes after each kind of change, from DVC's own output."""

import csv
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.pipeline.checkout import Checkout, executed

ALL = {
    "check", "dataset@patches", "plan@one", "plan@two", "train@one-0", "train@two-0", "extract@one-0-patches",
    "extract@two-0-patches", "detect@two-0", "control@two-0", "stitch@one-two-0", "audit@one-two-0",
    "compare@linear_cka", "trial", "report",
}  # fmt: skip


def test_a_forced_rebuild_runs_everything_and_ends_in_the_same_bytes(reproduced: Checkout) -> None:
    before = outputs(reproduced.study)

    ran = reproduced.repro("--force")

    assert ran == ALL
    assert outputs(reproduced.study) == before


def outputs(study: Path) -> dict[str, bytes]:
    """All that a study ends in, but for the page: it tells the time each stage took."""
    folders = [study / name for name in ("data", "cache", "reports")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    hidden = {path for path in files if any(part.startswith(".") for part in path.relative_to(study).parts)}
    return {
        str(path.relative_to(study)): path.read_bytes()
        for path in files
        if path not in hidden | {study / "reports/index.html"}
    }


def test_a_second_run_executes_nothing(reproduced: Checkout) -> None:
    assert reproduced.repro() == set()


def test_a_study_is_hidden_until_it_is_used_and_then_shares_what_others_made(reproduced: Checkout) -> None:
    other = shutil.copytree(reproduced.study, reproduced.top / "studies/other", ignore=shutil.ignore_patterns("cache"))
    pipeline = (sys.executable, "pipeline")

    assert "is dvc-ignored" in reproduced.run("dvc", "repro", where=other, fails=True)
    assert "other: is hidden from DVC" in reproduced.run(
        sys.executable, "../../pipeline", "mend", where=other, fails=True
    )
    reproduced.run(*pipeline, "study", "use", "other", where=reproduced.top)
    ran = executed(reproduced.run("dvc", "repro", where=other))

    assert ran <= {"check", "report"}


def test_a_stitching_param_runs_what_is_downstream_of_stitching_and_going_back_nothing(reproduced: Checkout) -> None:
    ran = executed(reproduced.run("dvc", "exp", "run", "-S", "stitch.lr=1e-3"))
    back = executed(reproduced.run("dvc", "exp", "run", "-S", "stitch.lr=0.01"))

    assert ran == {"stitch@one-two-0", "audit@one-two-0", "control@two-0", "trial", "report"}
    assert back == set()


def test_a_new_seed_runs_that_seed_alone(reproduced: Checkout) -> None:
    reproduced.params("seeds:\n- 0\n", "seeds:\n- 0\n- 1\n")

    ran = reproduced.repro()

    new = {
        "train@one-1",
        "train@two-1",
        "extract@one-1-patches",
        "extract@two-1-patches",
        "stitch@one-two-1",
        "control@two-1",
        "detect@two-1",
        "audit@one-two-1",
    }
    assert ran == new | {"check", "compare@linear_cka", "trial", "report"}


def test_a_new_sender_runs_that_sender_alone(reproduced: Checkout) -> None:
    reproduced.params("senders:\n- one\n", "senders:\n- one\n- two\n")

    assert reproduced.repro() == {"check", "stitch@two-two-0", "audit@two-two-0", "trial", "report"}


def test_a_sender_taken_away_again_leaves_the_lock_as_it_was(reproduced: Checkout) -> None:
    lock = (reproduced.study / "dvc.lock").read_text()
    reproduced.params("senders:\n- one\n", "senders:\n- one\n- two\n")
    reproduced.repro()
    reproduced.params("senders:\n- one\n- two\n", "senders:\n- one\n")

    reproduced.repro()

    of_report = lock[lock.index("  report:") :].split("    outs:")[0]
    assert of_report in (reproduced.study / "dvc.lock").read_text()
    assert not (reproduced.study / "cache/cells/two").exists()


@pytest.mark.parametrize(
    ("module", "ran"),
    [
        ("figures/cka.py", {"report"}),
        ("believing.py", {"report"}),
        ("similarity/linear_cka.py", {"compare@linear_cka", "trial"}),
        ("stages/plan.py", {"plan@one", "plan@two"}),
        ("permuting.py", {"trial", "report"}),
        ("probing.py", {"stitch@one-two-0", "control@two-0", "trial"}),
    ],
)
def test_what_a_module_is_imported_for_runs_after_an_edit_of_it_and_no_more(
    module: str, ran: set[str], reproduced: Checkout
) -> None:
    path = reproduced.top / "pipeline" / module
    path.write_text(path.read_text() + "\n# a thought\n")

    assert reproduced.repro() == {"check"} | ran


def test_stages_that_are_not_those_at_the_top_are_refused(reproduced: Checkout) -> None:
    stages = reproduced.top / "dvc.yaml"
    stages.write_text(stages.read_text() + "# a thought\n")
    reproduced.params("  lr: 0.01\n", "  lr: 0.02\n")

    told = reproduced.run("dvc", "repro", fails=True)

    assert "error: dvc.yaml: is no copy of the one at the repository's top; copy that one over it\n" in told
    assert len(executed(told)) == 1


def test_a_study_with_a_mistake_runs_no_stage_but_the_check(reproduced: Checkout) -> None:
    reproduced.params("  map: conv1x1\n", "  map: conv2x2\n")

    told = reproduced.run("dvc", "repro", fails=True)

    assert "error: stitch.map: conv2x2 is not defined" in told
    assert executed(told) == {"check"}


def test_code_can_be_edited_where_results_were_pulled_without_raw_files(reproduced: Checkout) -> None:
    """The dataset is prepared already; that its raw folder is not there must not stop what does not need it."""
    kind = "    kind: synthetic\n    categories: 3\n    samples: 64\n    size: 8\n"
    folder = "    kind: image_folder\n    folder: gone\n    train: train\n    test: test\n    categories: null\n"
    more = "    resize: 8\n    size: 8\n    mean: [0.5, 0.5, 0.5]\n    std: [0.5, 0.5, 0.5]\n"
    reproduced.params(kind, folder + more)

    assert "nothing wrong found" in reproduced.run(sys.executable, "../../pipeline", "check")


def test_a_new_objective_trains_its_own_cells_only(reproduced: Checkout) -> None:
    before = reproduced.cells_made()
    reproduced.params("  direct:\n    cutoff: 0.000001\n", "  direct:\n    cutoff: 0.3\n")

    ran = reproduced.repro()

    after = reproduced.cells_made()
    assert ran == {"check", "stitch@one-two-0", "control@two-0", "audit@one-two-0", "trial", "report"}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 3 * len(["one", "self", "random"])


def test_the_machine_is_no_part_of_the_hash(reproduced: Checkout) -> None:
    reproduced.params("  memory_gb: 2\n", "  memory_gb: 3\n")

    assert reproduced.repro() == set()


def test_metrics_plots_and_experiments_are_wired(reproduced: Checkout) -> None:
    reproduced.run("dvc", "exp", "run", "-S", "stitch.lr=1e-3", "-n", "slower")

    assert "two.task.accuracy_mean" in reproduced.run("dvc", "metrics", "show")
    (numbers,) = json.loads(
        reproduced.run("dvc", "metrics", "diff", "--json", "HEAD", "slower").splitlines()[-1]
    ).values()
    assert numbers["two.task.accuracy_mean"]["old"] is not None
    shown = csv.DictReader(io.StringIO(reproduced.run("dvc", "exp", "show", "--csv")))
    (slower,) = [row for row in shown if row["Experiment"] == "slower"]
    assert float(slower["two.task.accuracy_mean"]) == numbers["two.task.accuracy_mean"]["new"]
    reproduced.run("dvc", "plots", "diff", "HEAD", "--out", "plots")
    page = (reproduced.study / "plots/index.html").read_text()
    assert '"sender": "one"' in page
    assert "DVC_METRIC" not in page
