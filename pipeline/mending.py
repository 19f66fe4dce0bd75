"""What a remote holds of the study in this folder, read byte by byte; what is damaged there is mended from here.

DVC trusts the names of objects on a remote: `dvc push` calls a damaged one up to date, and a damaged listing of a
folder can be pulled without a word, even with `verify = true`. The only importer of DVC.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc_data.hashfile.db import HashFileDB
from dvc_data.hashfile.hash import file_md5
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.tree import Tree
from dvc_objects.fs.local import localfs

from pipeline.errors import DataError, choices
from pipeline.progress import progress

RIGHT, DAMAGED, MISSING = "right", "damaged", "missing"
READERS = 8  # each holds up to 50 MB of an object on S3


@dataclass(frozen=True)
class Item:
    """An object that dvc.lock needs: the hash it goes by, the file or folder it is here, the stage that makes it."""

    oid: str
    path: str
    stage: str


@dataclass(frozen=True)
class Finding:
    """An item that was not right on the remote, what this clone's cache has of it, and whether that was pushed."""

    item: Item
    there: str
    here: str
    mended: bool

    def __str__(self) -> str:
        states = f"{self.there} on the remote, {self.here} in this clone's cache"
        return f"{self.item.path} (stage {self.item.stage}): {states}; {self._next()}"

    def _next(self) -> str:
        if self.mended:
            return "pushed again"
        if self.here == RIGHT:
            return "mend would push it again"
        return f"run mend in a clone that has it, or dvc repro {self.item.stage} here and then mend"


def mend(remote: str, dry_run: bool) -> tuple[int, list[Finding]]:
    """How many objects of the study were read on `remote` ('' for the default one), and those not right there.

    Each of these is pushed again if the copy in this clone's cache is right; `dry_run` changes nothing.
    """
    for library in ("asyncssh", "aiobotocore"):  # they tell of every connection
        logging.getLogger(library).setLevel(logging.WARNING)
    with _plainly("dvc", DvcException), Repo() as repo:
        if repo.dvcignore.is_ignored_dir(str(study := Path.cwd())):
            raise DataError(f"{study.name}: is hidden from DVC; python -m pipeline study use {study.name} shows it")
        name, here = _known(repo, remote), repo.cache.local
        with _plainly(f"remote {name}", Exception):  # each kind of remote raises errors of its own library
            there = repo.cloud.get_remote_odb(name)
            items = list(_needed(repo, here, there))
            states = _states(there, sorted({item.oid for item in items}))
            bad = [item for item in items if states[item.oid] != RIGHT]
            return len(states), [_settle(item, states[item.oid], here, there, dry_run) for item in bad]


@contextmanager
def _plainly(where: str, kind: type[Exception]) -> Iterator[None]:
    """Turns what DVC or a server complains of into one line of ours."""
    try:
        yield
    except DataError:
        raise
    except kind as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{where}: {what}; it should be set up as docs/remotes.md says") from error


def _known(repo: Repo, name: str) -> str:
    names = repo.config["remote"]
    name = name or repo.config["core"].get("remote", "")
    if name not in names:
        what = f"{name} is not set up" if name else "there is no default one"
        raise DataError(f"remote: {what}; {choices(name, names)}")
    return name


def _needed(repo: Repo, here: HashFileDB, there: HashFileDB) -> Iterator[Item]:
    """Every object of this folder's dvc.lock: files, listings of folders, and the files that they list."""
    outs = [out for stage in repo.stage.load_file("dvc.yaml") for out in stage.outs if out.use_cache]
    made = [(out.def_path, str(out.hash_info.value), out.stage.addressing) for out in outs if out.hash_info]
    if not made:
        raise DataError("dvc.lock: names no results; run dvc repro, or check out a commit that has them")
    for path, oid, stage in made:
        yield Item(oid, path, stage)
        for name, file in _listing(oid, here, there):
            yield Item(file, f"{path}/{name}", stage)


def _listing(oid: str, *places: HashFileDB) -> list[tuple[str, str]]:
    """Name and hash of each file in a folder, by a copy of its listing that is right; none for a file."""
    for place in places if oid.endswith(".dir") else ():
        if _state(place, oid) == RIGHT:
            return [("/".join(key), str(file.value)) for key, _, file in Tree.load(place, HashInfo("md5", oid)) if file]
    return []


def _states(there: HashFileDB, oids: list[str]) -> dict[str, str]:
    with ThreadPoolExecutor(READERS) as readers:
        states = readers.map(lambda oid: _state(there, oid), oids)
        return dict(zip(oids, progress(states, len(oids), "reading the remote", "objects"), strict=True))


def _state(place: HashFileDB, oid: str) -> str:
    """By its content: DVC's own check believes a read-only file, and deletes what is wrong."""
    try:
        found = file_md5(place.oid_to_path(oid), place.fs)
    except FileNotFoundError:
        return MISSING
    return RIGHT if found == oid.removesuffix(".dir") else DAMAGED


def _settle(item: Item, state: str, here: HashFileDB, there: HashFileDB, dry_run: bool) -> Finding:
    own = _state(here, item.oid)
    if not dry_run and own == RIGHT:
        _push(item, state, here, there)
    if not dry_run and own == DAMAGED:
        here.delete(item.oid)  # DVC would take it for right, and `dvc repro` would not make it again
    return Finding(item, state, own, mended=not dry_run and own == RIGHT)


def _push(item: Item, state: str, here: HashFileDB, there: HashFileDB) -> None:
    if state == DAMAGED:
        there.delete(item.oid)  # were we to stop here, dvc push would see that it is missing
    there.add(here.oid_to_path(item.oid), localfs, item.oid, check_exists=False)
    if _state(there, item.oid) != RIGHT:
        raise DataError(f"{item.path}: damaged on the remote again as soon as it was pushed; its disk needs a look")
