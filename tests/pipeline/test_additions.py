"""What CONTRIBUTING.md says of additions is so: every row of its table, added to a fresh copy and run."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas
import pytest
from ruamel.yaml import YAML

from tests.pipeline.checkout import TOP, Checkout

GUIDE = (TOP / "CONTRIBUTING.md").read_text()
ADDITIONS = Path(__file__).parent / "additions"
USES = re.findall(r"`((?:models\.\w+|stitch\.map): [^`]+)`", GUIDE)


@dataclass(frozen=True)
class Addition:
    """One row of the guide's table."""

    file: str
    line: str
    entry: str

    @property
    def family(self) -> str:
        return Path(self.file).parent.name

    @property
    def source(self) -> str:
        """The example's file stands in the guide itself, the others among the additions."""
        example = re.search(rf"The file, `{re.escape(self.file)}`:\n\n```python\n(.*?)```", GUIDE, re.DOTALL)
        return example[1] if example else (ADDITIONS / self.family / Path(self.file).name).read_text()

    def make(self, checkout: Checkout) -> None:
        """The file, the line, the entry, and nothing else."""
        path = checkout.top / self.file
        assert not path.exists(), f"{self.file} has become a variant; the guide needs another example"
        path.write_text(self.source)
        table = path.with_name("__init__.py")
        lines = table.read_text().splitlines()
        assert lines[-1] == "}", table
        table.write_text("\n".join([*lines[:-1], f"    {self.line}", "}", ""]))
        enter(checkout, self.entry)


def enter(checkout: Checkout, entry: str) -> None:
    """Sets one key of the study's params, written as `section.name: value`."""
    path, yaml = checkout.study / "params.yaml", YAML()
    document = yaml.load(path)
    place, _, value = entry.partition(": ")
    section, _, name = place.partition(".")
    document[section][name] = YAML(typ="safe").load(value)
    yaml.dump(document, path)


ROWS = re.findall(r"^\| an? [^|]+ \| `(pipeline/[^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", GUIDE, re.MULTILINE)
TABLE = {addition.family: addition for addition in (Addition(*row) for row in ROWS)}


def add(checkout: Checkout, *families: str) -> None:
    for family in families:
        TABLE[family].make(checkout)


def rows(checkout: Checkout, table: str) -> pandas.DataFrame:
    return pandas.read_csv(checkout.study / f"reports/tables/{table}.csv")


def test_the_guide_has_a_row_for_every_family() -> None:
    families = {path.parent.name for path in (TOP / "pipeline").glob("*/base.py")}

    assert set(TABLE) == families


@pytest.mark.parametrize("family", TABLE)
def test_a_row_of_the_guide_gives_one_name_to_file_and_line(family: str) -> None:
    addition = TABLE[family]
    name = Path(addition.file).stem

    assert re.fullmatch(rf'"{name}": "pipeline\.{family}\.{name}:[A-Z]\w+",', addition.line)
    assert re.search(rf"\b{name}\b", addition.entry)
    variant = addition.line.rpartition(":")[2].removesuffix('",')
    assert f"class {variant}(" in addition.source


def test_a_new_index_runs_its_own_comparison_and_a_new_figure_the_report(reproduced: Checkout) -> None:
    add(reproduced, "similarity", "figures")

    ran = reproduced.repro()

    assert ran == {"check", "compare@shared_sign", "trial", "report"}
    measured = rows(reproduced, "similarity")
    counts = measured[["linear_cka", "shared_sign"]].notna().to_numpy().sum(0)
    assert counts[0] == counts[1] > 0
    assert {f"shared_sign_{kind}" for kind in ("calibrated", "null", "p", "error")} < set(measured)
    assert {"shared_sign", "shared_sign_calibrated"} < set(rows(reproduced, "cells").columns)
    assert (reproduced.study / "reports/figures/accuracy_histogram.svg").exists()
    assert "Accuracies of all cells" in (reproduced.study / "reports/index.html").read_text()


def test_a_new_rank_runs_the_audit_and_a_new_dataset_no_network(reproduced: Checkout) -> None:
    add(reproduced, "ranks", "datasets")

    ran = reproduced.repro()

    assert ran == {"check", "dataset@patches", "dataset@lines", "audit@one-two-0", "control@two-0", "report"}
    assert {"kaiser", "receiver_kaiser"} < set(rows(reproduced, "audits")["measure"])
    assert "kaiser" in rows(reproduced, "cells").columns
    assert "dataset lines" in (reproduced.study / "reports/index.html").read_text()


def test_a_new_objective_makes_its_own_cells_and_a_new_architecture_its_own_network(reproduced: Checkout) -> None:
    before = reproduced.cells_made()
    add(reproduced, "objectives", "models")
    enter(reproduced, next(use for use in USES if use.startswith("models.")))

    ran = reproduced.repro()

    of_objective = {"stitch@one-two-0", "control@two-0", "audit@one-two-0", "report"}
    of_model = {"check", "plan@one", "plan@two", "plan@flat", "train@flat-0", "extract@flat-0-patches"}
    assert ran == of_objective | of_model | {"compare@linear_cka", "trial"}
    assert before.items() <= reproduced.cells_made().items()
    assert len(reproduced.cells_made()) == len(before) + 3 * len(["one", "self", "random", "noise"])
    assert set(rows(reproduced, "cells")["objective"]) == {"task", "direct", "smoothed_task"}
    assert "flat" in set(rows(reproduced, "networks")["model"]) & set(rows(reproduced, "similarity")["model"])


def test_a_new_stitch_makes_every_cell_anew_and_nothing_before_them(reproduced: Checkout) -> None:
    add(reproduced, "stitches")
    enter(reproduced, next(use for use in USES if use.startswith("stitch.map")))

    ran = reproduced.repro()

    assert ran == {"check", "stitch@one-two-0", "control@two-0", "audit@one-two-0", "trial", "report"}
    assert set(rows(reproduced, "cells")["map"]) == {"identity_start"}
    assert all(accuracy >= 0 for accuracy in rows(reproduced, "cells")["accuracy"])


def test_a_new_control_makes_its_own_cells_and_stands_beside_all(reproduced: Checkout) -> None:
    before = reproduced.cells_made()
    add(reproduced, "controls")

    ran = reproduced.repro()

    assert ran == {"check", "stitch@one-two-0", "control@two-0", "report"}
    assert len(reproduced.cells_made()) == len(before) + 3
    assert "shuffled" in rows(reproduced, "cells").columns


def test_a_plain_addition_without_its_use_is_no_error(reproduced: Checkout) -> None:
    """The table's lines and entries alone, all of them: what nothing names yet is checked, and waits."""
    add(reproduced, *TABLE)

    assert "nothing wrong found" in reproduced.run("python", "../../pipeline", "check")


def test_the_copied_files_are_all_in_the_guide() -> None:
    files = {f"pipeline/{path.parent.name}/{path.name}" for path in ADDITIONS.glob("*/*.py")}

    assert files == {addition.file for addition in TABLE.values()} - {"pipeline/ranks/kaiser.py"}


def test_a_new_detector_is_asked_by_every_audit_and_no_stitch_is_made(reproduced: Checkout) -> None:
    before = reproduced.cells_made()
    add(reproduced, "detectors")

    ran = reproduced.repro()

    assert ran == {"check", "detect@two-0", "control@two-0", "audit@one-two-0", "report"}
    assert "auroc_distant" in set(rows(reproduced, "audits")["measure"])
    assert reproduced.cells_made() == before


def test_a_new_trial_asks_every_index_and_runs_nothing_before_it(reproduced: Checkout) -> None:
    add(reproduced, "trials")

    ran = reproduced.repro()

    assert ran == {"check", "trial", "report"}
    found = rows(reproduced, "trials")
    assert found["index"].tolist() == ["linear_cka"]
    assert found["value"].between(0, 1).all()
    assert "ends least similar" in (reproduced.study / "reports/index.html").read_text()
