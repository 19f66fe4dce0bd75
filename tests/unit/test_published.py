"""A paper's numbers beside rows made for the purpose, and where its protocol differs."""

from pathlib import Path
from typing import get_args, get_type_hints

import pandas
import pytest

from pipeline.errors import DataError, ParamsError
from pipeline.params import Claim, Published
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
    head = "place,table,label,seed,colour,measure,value\n"
    root = numbers(tmp_path, head + "T1,cells,X,1,,accuracy,0.5\nT2,cells,X,,red,accuracy,0.5\n")

    (row,) = beside(root, Published("paper", ("T1",)), TABLES).to_dict("records")

    assert (row["rows"], row["measured"]) == (2, pytest.approx((0.7 + 0.97) / 2))
    with pytest.raises(DataError, match="published: colour is no column of cells; use one of sender, receiver"):
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
        (HEAD + "T1,cells,,,,rank,n.s.\n", Published("paper", ("T1",)), DataError, "value: is 'n.s.'; it should be a"),
    ],
)
def test_published_numbers_that_are_not_there_are_refused(
    text: str, published: Published, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        read(numbers(tmp_path, text), published)


def test_the_page_shows_them(tmp_path: Path) -> None:
    root = numbers(tmp_path, HEAD + "T1,cells,Colour,colour,,accuracy,0.99\nT1,cells,X,x,,accuracy,0.5\n")

    shown = published_table(beside(root, Published("paper", ("T1",)), TABLES)).rows

    assert [row[3:] for row in shown] == [("0.99", "0.8", "0.1414", "2"), ("0.5", "–", "–", "0")]


def test_a_published_number_may_be_of_several_and_another_than_their_mean(tmp_path: Path) -> None:
    head = "place,table,label,sender,take,measure,value\n"
    rows = [f"T1,cells,X,[bc]*,{take},accuracy,4e+2\n" for take in ("", "least", "greatest", "deviation")]
    root = numbers(tmp_path, head + "".join(rows) + "T1,cells,X,bw,least,accuracy,1\n")

    found = beside(root, Published("paper", ("T1",)), TABLES)

    accuracies = TABLES["cells"]["accuracy"]
    wanted = [accuracies.mean(), accuracies.min(), accuracies.max(), accuracies.std(), 0.95]
    assert found["measured"].tolist() == pytest.approx(wanted)
    assert found["published"].tolist() == [400, 400, 400, 400, 1]


def test_the_page_says_where_the_protocol_of_the_paper_is_another(tmp_path: Path) -> None:
    (tmp_path / "published/protocols").mkdir(parents=True)
    text = 'place,setting,paper,here\nFigure 2,rate,"0.1, constant",0.1\n'
    (tmp_path / "published/protocols/paper.csv").write_text(text)

    rows = protocol(str(tmp_path), Published("paper", ()))

    assert protocol_table(rows).rows == (("Figure 2", "rate", "0.1, constant", "0.1"),)
    assert read(str(tmp_path), Published("paper", ())) == []


def test_a_paper_has_a_protocol_or_numbers(tmp_path: Path) -> None:
    root = numbers(tmp_path, HEAD + "T1,cells,X,x,,accuracy,0.5\n")

    assert protocol(root, Published("paper", ("T1",))).empty
    with pytest.raises(ParamsError, match=r"paper\.csv is not there"):
        protocol(root, Published("paper", ()))


@pytest.mark.parametrize("path", sorted((TOP / "published").glob("*.csv")), ids=lambda path: path.stem)
def test_the_published_numbers_of_the_repository_can_be_read(path: Path) -> None:
    places = pandas.read_csv(path)["place"].unique()
    rows = read(str(TOP), Published(path.stem, tuple(places)))

    assert {row["table"] for row in rows} <= set(get_args(get_type_hints(Claim)["of"]))
    assert len({tuple(sorted(row.items())) for row in rows}) == len(rows)
    accuracies = [row["value"] for row in rows if "accuracy" in row["measure"]]
    assert all(0 <= value <= 1 for value in accuracies)


@pytest.mark.parametrize("path", sorted((TOP / "published/protocols").glob("*.csv")), ids=lambda path: path.stem)
def test_the_protocols_of_the_repository_are_whole(path: Path) -> None:
    rows = protocol(str(TOP), Published(path.stem, ()))

    assert (rows[["setting", "paper", "here"]] != "").to_numpy().all()
