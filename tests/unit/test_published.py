"""A paper's numbers beside rows made for the purpose, and where its protocol differs."""

import fnmatch
from functools import partial
from pathlib import Path

import pandas
import pytest

from pipeline.errors import DataError, ParamsError
from pipeline.loading import load_params
from pipeline.params import Params, Published
from pipeline.published import beside, protocol, protocol_table, published_table, read
from tests.unit.test_claims import TABLES

TOP = Path(__file__).resolve().parents[2]


def numbers(folder: Path, text: str) -> str:
    (folder / "published").mkdir()
    (folder / "published/paper.csv").write_text(text)
    return str(folder)


HEAD = "place,table,label,sender,objective,measure,value\n"


def test_a_published_number_stands_beside_the_mean_of_its_rows(tmp_path: Path) -> None:
    rows = "T1,cells,Colour,colour,task,accuracy,0.99\nT1,cells,X,x,,accuracy,0.5\nT2,cells,,,,rank,3\n"
    root = numbers(tmp_path, HEAD + rows)

    one, other = beside(root, Published("paper", ("T1",)), TABLES).to_dict("records")

    assert (one["label"], one["published"], one["rows"]) == ("Colour", 0.99, 2)
    assert (one["measured"], one["deviation"]) == pytest.approx((0.8, 0.2 / 2**0.5))
    assert (other["rows"], other["measured"] != other["measured"]) == (0, True)


def test_published_keys_are_columns_and_may_be_numbers(tmp_path: Path) -> None:
    head = "place,table,label,seed,trial,measure,value\n"
    root = numbers(tmp_path, head + "T1,cells,X,1,,accuracy,0.5\nT2,cells,X,,probe,accuracy,0.5\n")

    (row,) = beside(root, Published("paper", ("T1",)), TABLES).to_dict("records")

    assert (row["rows"], row["measured"]) == (2, pytest.approx((0.7 + 0.97) / 2))
    with pytest.raises(DataError, match="published: trial is no column of cells; use one of sender, receiver"):
        beside(root, Published("paper", ("T2",)), TABLES)


def test_a_paper_whose_numbers_a_study_has_none_of_is_shown_beside_nothing(tmp_path: Path) -> None:
    root = numbers(tmp_path, HEAD + "T1,cells,X,x,,accuracy,0.5\n")

    (row,) = published_table(beside(root, Published("paper", ("T1",)), TABLES)).rows

    assert row[-4:] == ("0.5", "–", "–", "0")


@pytest.mark.parametrize(
    ("text", "published", "error", "words"),
    [
        (HEAD, Published("other", ("T1",)), ParamsError, "other.csv is not there; name a file of that folder"),
        (HEAD + "T1,cells,,,,rank,3\n", Published("paper", ("T9",)), ParamsError, "T9 is not in .*; use T1"),
        ("place,of\n", Published("paper", ("T1",)), DataError, "has no column table"),
        (HEAD + "T1,cels,,,,rank,3\n", Published("paper", ("T1",)), DataError, "table: is cels; did you mean cells"),
        (
            "place,table,label,take,measure,value\nT1,cells,,most,rank,3\n",
            Published("paper", ("T1",)),
            DataError,
            "take: is most; choose from deviation, greatest, least, mean",
        ),
        (HEAD + "T1,cells,A,,,rank,n.s.\n", Published("paper", ("T1",)), DataError, "value of 'A': is 'n.s.'; it sho"),
        (HEAD + "T1,cells,A,b,,,rank,3\n", Published("paper", ("T1",)), DataError, "line 2 has 8 cells; it should"),
        ("", Published("paper", ("T1",)), DataError, "has no column place; it should have place, table"),
        (
            HEAD.replace("sender", "sendre"),
            Published("paper", ("T1",)),
            DataError,
            "column: is sendre; did you mean sen",
        ),
        (HEAD + 'T1,cells,"A"b,,,rank,3\n', Published("paper", ("T1",)), DataError, "cannot be read .*; it should be"),
    ],
)
def test_published_numbers_that_are_not_there_are_refused(
    text: str, published: Published, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        read(numbers(tmp_path, text), published)


def test_the_page_shows_them(tmp_path: Path) -> None:
    head = HEAD.replace("value", "value,spread")
    root = numbers(tmp_path, head + "T1,cells,Colour,colour,,accuracy,0.99,0.02\nT1,cells,X,x,,accuracy,0.5,\n")
    cells = TABLES["cells"].assign(unstitched=0.98, noise=0.5)

    shown = published_table(beside(root, Published("paper", ("T1",)), {"cells": cells})).rows

    assert [row[4:] for row in shown] == [
        ("0.99 ± 0.02", "0.8 ± 0.14", "−0.19", "2", "0.98", "0.5"),
        ("0.5", "–", "–", "0", "–", "–"),
    ]


def test_a_published_number_may_be_of_several_and_another_than_their_mean(tmp_path: Path) -> None:
    head = "place,table,label,sender,take,measure,value\n"
    rows = [f"T1,cells,X,[bc]*,{take},accuracy,4e+2\n" for take in ("", "least", "greatest", "deviation")]
    root = numbers(tmp_path, head + "".join(rows) + "T1,cells,X,bw,least,accuracy,1\n")

    found = beside(root, Published("paper", ("T1",)), TABLES)

    accuracies = TABLES["cells"]["accuracy"]
    wanted = [accuracies.mean(), accuracies.min(), accuracies.max(), accuracies.std(ddof=0), 0.95]
    assert found["measured"].tolist() == pytest.approx(wanted)
    assert found["published"].tolist() == [400, 400, 400, 400, 1]
    assert found["take"].tolist() == ["mean", "least", "greatest", "deviation", "least"]
    assert found["deviation"].notna().tolist() == [True, False, False, False, False]


def test_the_page_says_where_a_study_is_not_as_its_paper(tmp_path: Path) -> None:
    (tmp_path / "published/protocols").mkdir(parents=True)
    lines = ["studies,place,setting,paper,here,source"]
    lines += ['mine-* other,Figure 2,rate,"0.1, constant",0.1,run.py', "other,,seeds,five,three,page 3"]
    (tmp_path / "published/protocols/paper.csv").write_text("\n".join(lines))

    rows = protocol(str(tmp_path), Published("paper", ()), "mine-laptop")

    assert protocol_table(rows).rows == (("Figure 2", "rate", "0.1, constant", "0.1", "run.py"),)
    assert len(protocol(str(tmp_path), Published("paper", ()), "other")) == 2
    assert read(str(tmp_path), Published("paper", ())) == []


def test_a_paper_has_a_protocol_or_numbers(tmp_path: Path) -> None:
    root = numbers(tmp_path, HEAD + "T1,cells,X,x,,accuracy,0.5\n")

    assert protocol(root, Published("paper", ("T1",)), "mine").empty
    with pytest.raises(ParamsError, match=r"paper\.csv is not there"):
        protocol(root, Published("paper", ()), "mine")


STUDIES = {path.parent.name: load_params(path) for path in sorted((TOP / "studies").glob("*/params.yaml"))}


@pytest.mark.parametrize("path", sorted((TOP / "published").glob("*.csv")), ids=lambda path: path.stem)
def test_the_published_numbers_of_the_repository_can_be_read(path: Path) -> None:
    rows = read(str(TOP), Published(path.stem, tuple(pandas.read_csv(path)["place"].unique())))

    assert len({tuple(sorted(row.items())) for row in rows}) == len(rows)
    for row in rows:
        low, high = {"trials": (-1, 1), "similarity": (-1, 1)}.get(row["table"], (0, 1))
        assert low <= row["value"] <= high or row["measure"].startswith("error")


@pytest.mark.parametrize("paper", sorted(path.stem for path in (TOP / "published").glob("*.csv")))
def test_every_published_number_that_studies_redo_is_of_names_that_one_of_them_has(paper: str) -> None:
    redoing = [(each, each.published) for each in STUDIES.values() if each.published and each.published.paper == paper]
    for place in sorted({place for _, published in redoing for place in published.places}):
        there = [params for params, published in redoing if place in published.places]
        for row in read(str(TOP), Published(paper, (place,))):
            assert any(map(partial(has, row), there)), row


def has(row: dict[str, str], params: Params) -> bool:
    indices = [
        *params.similarity,
        *(f"{what}_{name}" for what in ("accuracy", "residual") for name in params.objectives),
    ]
    names = {"sender": [*params.senders, *params.controls], "receiver": params.receivers, "model": params.models}
    names |= {"objective": params.objectives, "trial": params.trials, "index": indices}
    return all(fnmatch.filter(known, row[key]) for key, known in names.items() if row.get(key))


@pytest.mark.parametrize("path", sorted((TOP / "published/protocols").glob("*.csv")), ids=lambda path: path.stem)
def test_the_protocols_of_the_repository_are_of_its_studies(path: Path) -> None:
    rows = pandas.read_csv(path, keep_default_na=False)

    assert (rows.drop(columns="place") != "").to_numpy().all()
    for pattern in " ".join(rows["studies"]).split():
        assert fnmatch.filter(STUDIES, pattern), pattern
    for study, params in STUDIES.items():
        if params.published and params.published.paper == path.stem:
            assert len(protocol(str(TOP), params.published, study)), study
