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
    yaml.representer.add_representer(type(None), lambda to, _: to.represent_scalar("tag:yaml.org,2002:null", "null"))
    text = (top / "params.yaml").read_text(encoding="utf-8")
    # Claims of the default study are of its own networks. Taken out as text: ruamel keeps line ends within entries.
    document = yaml.load(re.sub(r"^claims:.*?(?=^\w)", "claims: []\n\n", text, flags=re.MULTILINE | re.DOTALL))
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
