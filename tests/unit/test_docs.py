"""What the pages say is there is there, and what is there they say."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import pytest
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.controls import CONTROLS
from pipeline.datasets import DATASETS
from pipeline.figures import FIGURES
from pipeline.models import ARCHITECTURES
from pipeline.objectives import OBJECTIVES
from pipeline.params import Params
from pipeline.ranks import RANKS
from pipeline.registry import lookup
from pipeline.similarity import INDICES
from pipeline.stitches import STITCHES
from pipeline.trials import TRIALS

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("studies/*/*.md")])
PARAMS = (TOP / "docs/params.md").read_text()
STAGES: dict[str, dict] = YAML(typ="safe").load(TOP / "dvc.yaml")["stages"]
ROWS = dict(re.findall(r"^\| `([\w.]+)` \| .* \| ?([\w, ]*) ?\|$", PARAMS, re.MULTILINE))
TABLES = {  # and the page where its variants are
    "datasets": (DATASETS, "datasets.md"),
    "architectures": (ARCHITECTURES, "models.md"),
    "stitches": (STITCHES, "params.md"),
    "objectives": (OBJECTIVES, "params.md"),
    "controls": (CONTROLS, "params.md"),
    "ranks": (RANKS, "params.md"),
    "similarity": (INDICES, "params.md"),
    "trials": (TRIALS, "trials.md"),
    "figures": (FIGURES, "report.md"),
}
VARIANTS = [(family, name) for family, (table, _) in TABLES.items() for name in table]


def keys_of(cls: Any, before: str = "") -> Iterator[str]:
    """Every key that a study has, with NAME where it chooses one."""
    hints = get_type_hints(cls)
    for field in fields(cls):
        place, kind = f"{before}{field.name}", hints[field.name]
        inner = get_args(kind)[1] if get_origin(kind) is dict else kind
        place = f"{place}.NAME" if inner is not kind else place
        if is_dataclass(inner):
            yield from keys_of(inner, f"{place}.")
        else:
            yield place


KEYS = list(keys_of(Params))


def readers(key: str) -> set[str]:
    """The stages that dvc.yaml has read the key, or that it makes one of for each value in it."""
    return {name for name, stage in STAGES.items() if key in loops(stage) or any(covers(x, key) for x in read(stage))}


def read(stage: Mapping[str, Any]) -> list[str]:
    return stage.get("do", stage)["params"]


def loops(stage: Mapping[str, Any]) -> set[str]:
    return {source.strip("${}") for source in (stage.get("foreach", ""), *stage.get("matrix", {}).values())}


def covers(listed: str, key: str) -> bool:
    """Whether `listed` is the key or a block around it."""
    parts = re.sub(r"\$\{[^}]+\}", "NAME", listed).split(".")
    return parts == key.split(".")[: len(parts)]


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections(page: str) -> dict[str, str]:
    parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    return {slug(heading): body for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def told(page: str, name: str) -> str:
    """The row of the page's tables that begins with the name, and the section that it refers to."""
    row = re.search(rf"^\| `{name}` \|.*$", page, re.MULTILINE)
    assert row, f"no table has a row for {name}"
    return row[0] + "".join(sections(page)[anchor] for anchor in re.findall(r"\]\(#([\w-]+)\)", row[0]))


def test_params_md_has_a_row_for_every_key_and_no_other() -> None:
    assert sorted(ROWS) == sorted(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_params_md_names_the_stages_that_read_a_key(key: str) -> None:
    assert set(filter(None, ROWS[key].strip().split(", "))) == readers(key)


@pytest.mark.parametrize(("family", "name"), VARIANTS)
def test_every_variant_is_described_with_all_its_options(family: str, name: str) -> None:
    table, page = TABLES[family]
    described = told((TOP / "docs" / page).read_text(), name)

    missing = [
        field.name for field in fields(lookup(family, table, name)) if not re.search(rf"\b{field.name}\b", described)
    ]
    assert not missing, f"docs/{page} does not tell of {missing} where it tells of {name}"


@pytest.mark.parametrize("page", sorted({page for _, page in TABLES.values()} - {"params.md"}))
def test_params_md_refers_to_the_pages_of_variants(page: str) -> None:
    assert re.search(rf"\]\({page}[)#]", PARAMS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if ":" not in link]

    for link in links:
        file, _, anchor = link.partition("#")
        target = (page.parent / file) if file else page
        assert target.exists(), link
        assert not anchor or anchor in sections(target.read_text()), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_commands_on_pages_are_commands(page: Path) -> None:
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(python -m pipeline [^`]+)`", page.read_text())

    for line in [*lines, *inline]:
        if line.startswith("python -m pipeline "):
            resolve(main, shlex.split(line, comments=True)[3:])


def resolve(command: click.Command, words: list[str]) -> None:
    """Follows the words through groups of commands; options must be the command's own."""
    if isinstance(command, click.Group):
        assert words and words[0] in command.commands, f"{words} is not of {sorted(command.commands)}"
        resolve(command.commands[words[0]], words[1:])
    else:
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known
