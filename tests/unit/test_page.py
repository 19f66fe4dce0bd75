import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from pandas import DataFrame

from pipeline.figures.accuracy_by_cut import AccuracyByCut
from pipeline.figures.example import example_evidence
from pipeline.figures.learning_curves import LearningCurves
from pipeline.figures.style import FAINT, INK, PAPER, rendered
from pipeline.page import (
    Contents,
    Table,
    columns_of,
    duration,
    html,
    inlined,
    number,
    percent,
    picture,
    points,
    similarity,
    size,
    table,
)  # fmt: skip
from pipeline.params import Study

EMPTY = Table("Nothing.", ("a", "b"), (), 1)
VOID = {"meta", "link", "br", "path", "use"}


class Reader(HTMLParser):
    """Every element and its attributes, and whether all that was opened was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def contents(**changes: object) -> Contents:
    given: dict[str, object] = {
        "study": Study(title="A & B", question="Is <a> like <b>?"),
        "finding": ["3 of 4 cells reach <it>."],
        "pictures": [],
        "verdicts": Table("Verdicts.", ("sender", "verdict"), (("s", "open"),), 2),
        "cells": Table("Cells.", ("sender", "accuracy"), (("</table><b>", "99.00 %"),), 1),
        "controls": EMPTY,
        "networks": EMPTY,
        "detectors": EMPTY,
        "trials": EMPTY,
        "claims": EMPTY,
        "published": EMPTY,
        "protocol": EMPTY,
        "seeds": "Seeds 0, 1.",
        "stages": EMPTY,
        "versions": EMPTY,
        "digests": EMPTY,
        "data": {"cells": {"columns": ["sender"], "rows": [["</script><script>alert(1)</script>"]]}},
    }
    return Contents(**given | changes)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def whole() -> str:
    """A page with two figures."""
    evidence = example_evidence()
    figures = {"accuracy_by_cut": AccuracyByCut(7.0), "learning_curves": LearningCurves(6.0, "log")}
    pictures = [picture(name, it, rendered(it, evidence, ["svg"])["svg"]) for name, it in figures.items()]
    return html(contents(pictures=pictures))


def test_figures_of_one_kind_are_told_apart_by_their_names():
    drawn = rendered(LearningCurves(6.0, "log"), example_evidence(), ["svg"])["svg"]

    headings = [
        picture(name, LearningCurves(6.0, "log"), drawn).heading for name in ("learning_curves", "learning_curves-b")
    ]
    assert headings == ["Learning curves", "Learning curves: b"]


def test_names_from_a_study_are_text_and_never_markup():
    text = html(contents())

    assert "Is &lt;a&gt; like &lt;b&gt;?" in text
    assert "<title>A &amp; B</title>" in text
    assert "&lt;/table&gt;&lt;b&gt;" in text
    assert "alert(1)</script>" not in text


def test_rows_for_programs_survive_the_page():
    text = html(contents())
    embedded = re.search(r'<script type="application/json" id="rows">(.*?)</script>', text, re.DOTALL)

    assert embedded
    assert json.loads(embedded[1])["cells"]["rows"] == [["</script><script>alert(1)</script>"]]


def test_the_page_asks_for_nothing_from_anywhere(whole: str):
    assert "http:" not in whole
    assert "https:" not in whole
    assert "@import" not in whole
    for tag, attributes in Reader(whole).elements:
        if "src" in attributes:
            pytest.fail(f"{tag} has a source")
        assert tag != "script" or attributes["type"] == "application/json"
        assert tag != "link" or attributes["href"] == "data:,"


def test_every_element_is_closed(whole: str):
    assert Reader(whole).open == []


def test_no_id_is_there_twice_and_every_reference_has_its_target(whole: str):
    elements = Reader(whole).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    used = {attributes["href"] for _, attributes in elements if (attributes.get("href") or "").startswith("#")}
    used |= set(re.findall(r"url\((#[^)]*)\)", whole))

    assert len(set(ids)) == len(ids)
    assert {name.removeprefix("#") for name in used if name} <= set(ids)


def test_headings_go_down_one_step_at_a_time(whole: str):
    levels = [int(tag[1]) for tag, _ in Reader(whole).elements if re.fullmatch("h[1-6]", tag)]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_figure_is_an_image_with_words(whole: str):
    images = [attributes for tag, attributes in Reader(whole).elements if tag == "svg"]

    assert [image["role"] for image in images] == ["img", "img"]
    assert images[1]["aria-label"] == "Training loss of every network by epoch, one line a network."
    assert whole.count("<figcaption>") == 2


def test_every_table_has_a_caption_and_headers_for_rows_and_columns(whole: str):
    elements = Reader(whole).elements
    scopes = [attributes.get("scope") for tag, attributes in elements if tag == "th"]

    assert sum(tag == "caption" for tag, _ in elements) == sum(tag == "table" for tag, _ in elements)
    assert set(scopes) == {"col", "row"}


def test_figures_take_the_colours_of_the_page(whole: str):
    for element in re.findall(r"<svg.*?</svg>", whole, re.DOTALL):
        assert not any(colour in element for colour in (INK, FAINT, PAPER))
        assert "var(--ink)" in element
    for name in set(re.findall(r"var\((--[a-z0-9-]+)\)", whole)):
        assert whole.count(f"{name}: #") >= 2, f"{name} is not defined for light and dark"


def test_an_inlined_figure_brings_no_style_and_no_comment():
    svg = (
        '<?xml version="1.0"?><svg><metadata>m</metadata><defs><style>*{}</style></defs><!-- c --><path id="a"/></svg>'
    )

    assert inlined(svg, "one", 'a "b"') == (
        '<svg role="img" aria-label="a &#34;b&#34;"><defs></defs><path id="one--a"/></svg>'
    )


def test_no_runs_here_is_said_in_words():
    some = Table("Versions.", ("package", "versions"), (("numpy", "2"),), 2)

    assert "Not run on this machine" in html(contents())
    assert "Not run on this machine" not in html(contents(versions=some))


def test_a_table_shows_the_columns_asked_for_as_they_read():
    rows = DataFrame({"sender": ["a"], "hidden": [1], "accuracy": [0.98765]})
    shown = table("Cells.", rows, {"sender": ("from", str), "accuracy": ("accuracy", percent)}, keys=1)

    assert shown == Table("Cells.", ("from", "accuracy"), (("a", "98.77 %"),), 1)


def test_rows_for_programs_have_no_numbers_that_json_has_not():
    rows = columns_of(DataFrame({"seed": [0, 1], "value": [0.5, float("nan")]}))

    assert json.loads(json.dumps(rows, allow_nan=False)) == {
        "columns": ["seed", "value"],
        "rows": [[0, 0.5], [1, None]],
    }


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (percent(1.0), "100.00 %"),
        (percent(float("nan")), "–"),
        (points(0.0123), "+1.23"),
        (points(-0.0123), "−1.23"),
        (points(-0.000001), "0.00"),
        (points(float("nan")), "–"),
        (number(123.0), "123"),
        (number(-0.5), "−0.5"),
        (similarity(0.5), "0.500"),
        (similarity(float("nan")), "–"),
        (duration(12.34), "12.3 s"),
        (duration(600.0), "10.0 min"),
        (duration(9000.0), "2.5 h"),
        (size(12), "12 B"),
        (size(1500), "1.5 kB"),
        (size(2_500_000), "2.5 MB"),
        (size(3_000_000_000), "3.0 GB"),
    ],
)
def test_numbers_read_as_people_write_them(shown: str, expected: str):
    assert shown == expected
