"""A paper's sentences and numbers, held against rows made for the purpose."""

from pathlib import Path

import pandas
import pytest
from pandas import DataFrame

from pipeline.claims import BORNE_OUT, NOT, UNDECIDED, claims_table, held, tally
from pipeline.errors import ParamsError
from pipeline.loading import load_params
from pipeline.params import Claim
from pipeline.registry import typed
from pipeline.stages.claiming import measured, uncut, unfounded
from pipeline.wide import KEYS
from tests.unit.test_report import study

TOP = Path(__file__).resolve().parents[2]
CELLS = DataFrame(
    [
        {
            "sender": sender,
            "receiver": "digit",
            "objective": "task",
            "seed": seed,
            "accuracy": accuracy,
            "random": chance,
            "chance": 0.25,
        }
        for sender, accuracies in {"colour": (0.9, 0.7), "bw": (0.95, 0.97)}.items()
        for seed, (accuracy, chance) in enumerate(zip(accuracies, (0.5, float("nan")), strict=True))
    ]
)
TABLES = {"cells": CELLS}


def claim(**changes: object) -> Claim:
    options = {
        "says": "They stitch.", "place": "Section 4", "of": "cells", "where": {"receiver": "digit"}, "than": None,
        "measure": "accuracy", "minus": None, "take": "least", "above": 0.8, "below": None,
    }  # fmt: skip
    return typed("claim", Claim, options | changes)


@pytest.mark.parametrize(
    ("changes", "measured", "outcome", "seeds"),
    [
        ({"above": 0.65}, 0.8, BORNE_OUT, 2),
        ({"above": 0.75}, 0.8, UNDECIDED, 1),
        ({"above": 0.85}, 0.8, UNDECIDED, 1),
        ({"above": 0.95}, 0.8, NOT, 0),
        ({"take": "greatest", "above": None, "below": 0.9}, 0.96, NOT, 0),
        ({"take": "ever", "above": 0.965}, 0.97, BORNE_OUT, 1),
        ({"take": "ever", "where": {"sender": "colour"}, "above": 0.85}, 0.9, BORNE_OUT, 1),
        ({"take": "ever", "above": None, "below": 0.75}, 0.7, BORNE_OUT, 1),
        ({"take": "mean", "where": {"sender": ["colour", "bw"]}}, 0.88, BORNE_OUT, 2),
        ({"where": {"sender": "colour"}, "than": {"sender": "bw"}, "above": None, "below": 0}, -0.16, BORNE_OUT, 2),
        ({"measure": "accuracy", "minus": "chance", "above": 0.5}, 0.55, UNDECIDED, 1),
        ({"above": 0.7, "below": 0.85}, 0.8, UNDECIDED, 0),
        ({"above": 0.85, "below": 0.75}, 0.8, UNDECIDED, 2),
    ],
)
def test_a_claim_is_on_means_over_seeds_and_counts_the_seeds_that_bear_it_out(
    changes: dict, measured: float, outcome: str, seeds: int
) -> None:
    (row,) = held([claim(**changes)], TABLES).to_dict("records")

    assert row["measured"] == pytest.approx(measured)
    assert (row["outcome"], row["seeds_bearing_out"], row["seeds"]) == (outcome, seeds, 2)


def test_rounding_bears_nothing_out() -> None:
    cells = DataFrame([{"receiver": "digit", "seed": 0, "accuracy": 0.925, "unstitched": 0.945}])
    assert 0.925 - 0.945 > -0.02

    (row,) = held([claim(minus="unstitched", above=-0.02)], {"cells": cells}).to_dict("records")

    assert (row["outcome"], row["measured"]) == (NOT, -0.02)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minus": "random"}, r"claims\[0\].minus: random is not defined for all of its cells"),
        ({"measure": "random"}, r"claims\[0\].measure: random is not defined for all of its cells"),
        ({"measure": "rank"}, "rank is not defined for all"),
        ({"where": {"sender": "nobody"}}, r"claims\[0\].where: chooses no row of cells"),
        ({"than": {"cut": "layer1"}}, r"claims\[0\].than: cut is no column of cells; use one of sender, receiver"),
    ],
)
def test_a_claim_without_numbers_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(ParamsError, match=words):
        held([claim(**changes)], TABLES)


def test_a_claim_has_an_end() -> None:
    for changes in ({"than": {"sender": "bw"}}, {"below": 0.9}):
        with pytest.raises(ParamsError, match="take: is ever; it goes without than, and with one of above and below"):
            claim(take="ever", **changes)
    with pytest.raises(ParamsError, match="above: is null, as below is; one of them should be a number, or both"):
        claim(above=None)


@pytest.mark.parametrize(
    ("above", "below", "wanted"),
    [
        (0.1, None, "above 0.1"),
        (None, 0.2, "below 0.2"),
        (0.1, 0.2, "above 0.1 and below 0.2"),
        (0.2, -0.2, "below -0.2 or above 0.2"),
    ],
)
def test_the_page_says_where_a_number_should_lie(above: float | None, below: float | None, wanted: str) -> None:
    assert claim(above=above, below=below).wanted == wanted


def test_names_that_a_claim_needs_are_checked_before_the_study_runs() -> None:
    claims = [{**vars(claim(where={"sender": ["bw", "digt"]}, than={"sender": "digit"}))}]

    assert [str(error) for error in unfounded(study(claims=claims))] == [
        "claims[0].where.sender: digt is not defined; did you mean digit?"
    ]
    noise = vars(claim(of="controls", where={"sender": "noise"}))
    assert list(unfounded(study(claims=[noise], controls={"noise": {"radius": 0.1, "classes": None}}))) == []
    (other,) = unfounded(study(claims=[noise], controls={"random": {}}))
    assert str(other) == "claims[0].where.sender: noise is not defined; choose from random"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minus": "random"}, "claims[0].minus: random is not defined in controls; choose from noise, probe"),
        ({"measure": "rsa"}, "claims[0].measure: rsa is not defined in similarity; choose from linear_cka"),
        ({"measure": "receiver_effective"}, "claims[0].measure: effective is not defined in ranks; "),
        ({"measure": "auroc_nearest_low"}, "claims[0].measure: nearest is not defined in detectors; "),
        ({"measure": "error"}, "claims[0].measure: error is not measured; set audit.errors to true"),
        ({"of": "controls", "where": {"sender": "probe"}}, "claims[0].where.sender: probe is not defined; "),
        ({"measure": "accurcy"}, "claims[0].measure: accurcy is no number of cells; did you mean accuracy?"),
        (
            {"of": "networks", "where": {}, "minus": "unstitched"},
            "claims[0].minus: unstitched is no number of networks; ",
        ),
        ({"of": "controls", "measure": "linear_cka_p"}, "claims[0].measure: linear_cka_p is no number of controls; "),
        ({"where": {"sendr": "digit"}}, "claims[0].where: sendr is no column of cells; did you mean sender"),
        ({"than": {"index": "linear_cka"}}, "claims[0].than: index is no column of cells; choose from "),
    ],
)
def test_a_column_that_the_study_does_not_measure_is_refused_before_it_runs(changes: dict, words: str) -> None:
    controls = {"noise": {"radius": 0.1, "classes": None}, "probe": {"decay": 0.01}}

    (error,) = unfounded(study(claims=[claim(**changes)], controls=controls))

    assert str(error).startswith(words)


def test_cuts_of_claims_are_those_of_some_network() -> None:
    claims = [vars(claim(where={"receiver_cut": ["layer1", "layr1"]})), vars(claim(where={"sender_cut": "input"}))]

    (error,) = uncut(study(claims=claims), {"layer1", "layer2"})

    words = "claims[0].where.receiver_cut: layr1 is no cut of these networks; did you mean layer1 or layer2?"
    assert str(error) == words


@pytest.mark.parametrize(
    "path", sorted((TOP / "studies").glob("*/reports/tables/cells.csv")), ids=lambda x: x.parts[-4]
)
def test_the_columns_that_claims_may_name_are_those_that_studies_have(path: Path) -> None:
    table = pandas.read_csv(path, nrows=2)
    told = measured(load_params(path.parents[2] / "params.yaml"), "cells")

    assert set(table) <= {*told, *KEYS, "sender_lies"}


def test_the_page_says_what_was_found_of_each() -> None:
    than = {"sender": "bw", "objective": ["task", "direct"]}
    rows = held([claim(), claim(minus="chance", take="mean", than=than, above=-1)], TABLES)
    one, other = claims_table(rows).rows

    numbers = ("4", "0.8", "0.7 to 0.9", "above 0.8", "1 of 2")
    assert one == ("They stitch.", "Section 4", "undecided", "least accuracy of receiver digit", *numbers)
    assert other[3] == "mean accuracy − chance of receiver digit, less that of sender bw, objective task or direct"
    ever = held([claim(take="ever"), claim(take="ever", above=None, below=0.5)], TABLES)["of"].tolist()
    assert ever == [f"{end} accuracy in any seed, of receiver digit" for end in ("greatest", "least")]
    assert tally(rows) == "1 of 2 sentences that are held against these data are borne out, 1 undecided."
    assert tally(rows.tail(1)) == "1 of 1 sentences that are held against these data are borne out."
    assert tally(rows.head(0)) == ""
