"""Whole studies, run by DVC as a user runs them."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PARTS = (
    ".dvc/config",
    ".dvc/.gitignore",
    ".dvc/plots/by_sender.json",
    ".dvcignore",
    ".gitignore",
    "dvc.yaml",
    "params.yaml",
    "pyproject.toml",
)


@dataclass(frozen=True)
class Checkout:
    """A copy of the project, with the tiny study in it."""

    top: Path

    @property
    def study(self) -> Path:
        return self.top / "studies/tiny"

    def run(self, *command: str, fails: bool = False, where: Path | None = None) -> str:
        """What the command printed; its exit code is as expected or the test fails."""
        done = subprocess.run(
            command,
            cwd=where or self.study,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def repro(self, *arguments: str) -> set[str]:
        """The stages that `dvc repro` executed."""
        return executed(self.run("dvc", "repro", *arguments))

    def commit(self) -> None:
        self.run("git", "add", "--all", ".", where=self.top)
        self.run("git", "commit", "--quiet", "--allow-empty", "--message", "as it is", where=self.top)

    def cells_made(self) -> dict[Path, int]:
        """When each cell that is whole was made."""
        return {path: path.stat().st_mtime_ns for path in self.study.glob("cache/.scratch/stitch/*/scores.json")}

    def params(self, old: str, new: str) -> None:
        """Edits the study's params."""
        path = self.study / "params.yaml"
        text = path.read_text()
        assert text.count(old) == 1, (old, text.count(old))
        path.write_text(text.replace(old, new))


def environment() -> dict[str, str]:
    """The tests’ own, with the tests' own Python and DVC first, and alone in its settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DVC_", "GIT_", "BACKSTITCH_"))}
    names = {f"GIT_{who}_{what}": "tester@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, **names, "PATH": path, "DVC_NO_ANALYTICS": "1", "OMP_NUM_THREADS": "1"}


def executed(output: str) -> set[str]:
    return set(re.findall(r"Running stage '(?:[^':\n]*:)?([^'\n]+)'", output))


def fresh(top: Path) -> Checkout:
    """The working tree as it is now, without any results, in a repository of its own."""
    for name in PARTS:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, top / name)
    shutil.copytree(TOP / "pipeline", top / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(TOP / "published", top / "published")
    (top / "studies/tiny").mkdir(parents=True)
    for study in (top, top / "studies/tiny"):
        shutil.copytree(TOP / "code", study / "code")
    shutil.copy(TOP / "studies/tiny/params.yaml", top / "studies/tiny")
    shutil.copy(TOP / "dvc.yaml", top / "studies/tiny")
    checkout = Checkout(top)
    checkout.run("git", "init", "--quiet", "--initial-branch", "main", where=top)
    checkout.commit()
    return checkout
