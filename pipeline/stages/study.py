"""New studies: a folder with params of its own and a copy of the one dvc.yaml."""

import re
import shutil
from pathlib import Path

from ruamel.yaml import YAML

from pipeline.atomic import replacing
from pipeline.errors import ParamsError

TOP = Path(__file__).resolve().parents[2]


def new(name: str, top: Path = TOP) -> Path:
    """Makes studies/NAME from the default study; its folder."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise ParamsError(f"study: {name} is not a safe name; use lower-case letters, digits, _ and -")
    folder = top / "studies" / name
    if folder.exists():
        raise ParamsError(f"study: {folder.relative_to(top)} is there already; choose another name")
    yaml = YAML()  # keeps the comments
    document = yaml.load(top / "params.yaml")
    document.yaml_set_start_comment(f"The study {name}. docs/params.md explains every key.")
    document["root"] = "../.."
    document["study"] = {"title": name, "question": "What does this study ask? The report begins with it."}
    folder.mkdir(parents=True)
    with replacing(folder / "params.yaml") as temporary:
        yaml.dump(document, temporary)
    shutil.copy(top / "dvc.yaml", folder)  # no link: DVC follows none in earlier revisions
    (folder / "code").mkdir()
    shutil.copy(TOP / "code/README.md", folder / "code")
    return folder
