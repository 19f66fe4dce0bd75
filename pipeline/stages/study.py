"""New studies: a folder with params of its own and a copy of the one dvc.yaml; and which studies DVC sees."""

import re
import shutil
from pathlib import Path

from ruamel.yaml import YAML

from pipeline.atomic import replacing, write_text
from pipeline.errors import ParamsError, near

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
    use(name, top)
    return folder


def use(name: str, top: Path = TOP) -> Path:
    """Lets DVC see studies/NAME; its folder. DVC reads every stage that it sees several times for one experiment."""
    there = {path.parent.name: path.parent for path in top.glob("studies/*/params.yaml")}
    if name not in there:
        nearest = near(name, there)
        right = f"did you mean {' or '.join(nearest)}?" if nearest else "studies/README.md lists those there are"
        raise ParamsError(f"study: {name} is not there; {right}")
    ignored = top / ".dvcignore"
    text = ignored.read_text(encoding="utf-8")
    line = f"!/studies/{name}/"
    if line not in text.splitlines():
        write_text(ignored, f"{text.rstrip()}\n{line}\n")
    return there[name]
