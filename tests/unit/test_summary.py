from dataclasses import replace

import pandas
import pytest
from pandas import DataFrame

from pipeline import cutting
from pipeline.departures import departures
from pipeline.figures.base import INPUT, Evidence
from pipeline.figures.example import MODELS, example_evidence
from pipeline.figures.tables import distinct, groups, series, summarised, where
from pipeline.params import Verdicts
from pipeline.similarities import spread
from pipeline.summary import accuracy_plot, as_good, finding, metrics
from pipeline.tables import BARS, TRUST
from pipeline.verdicts import comparisons, verdicts
from pipeline.wide import KEYS, cell_table, control_table, network_table

RULES = Verdicts(confidence=0.95, margin=0.02, auroc=0.75, rank_ratio=1.5)
PLACE = {"seed": 0, "data": "d", "sender_cut": "a", "receiver_cut": "b", "map": "m", "objective": "task"}


OWN = {**dict.fromkeys("rst", "d"), **{model: model for model in MODELS}}


def evidence(accuracies: dict[str, float], receiver: float = 0.9) -> Evidence:
    """One cell from each sender into r, whose own accuracy is `receiver`; ranks 5 of 10, similarity 0.25."""
    cells = [{"sender": sender, "receiver": "r", **PLACE, "value": value} for sender, value in accuracies.items()]
    audits = [
        {**cell, "measure": name, "value": rank} for cell in cells for name, rank in (("k", 5), ("receiver_k", 10))
    ]
    pairs = [
        {"data": "d", "model": sender, "seed": 0, "cut": "a", "other_model": "r", "other_seed": 0, "other_cut": "b"}
        for sender in accuracies
    ]
    others = {"samples": 1000, "labelled": 1}
    measures = [{**cell, "measure": name, "value": value} for name, value in others.items() for cell in cells]
    return Evidence(
        cells=pandas.concat([DataFrame(cells).assign(measure="accuracy"), DataFrame(measures)]),
        audits=DataFrame(audits),
        controls=DataFrame([], columns=[*KEYS, "measure", "value"]),
        control_audits=DataFrame([], columns=[*KEYS, "measure", "value"]),
        bars=DataFrame([], columns=BARS),
        networks=DataFrame(
            {"model": "r", "seed": 0, "data": "d", "measure": ["accuracy", "samples"], "value": [receiver, 1000]}
        ),
        curves=DataFrame(),
        detectors=DataFrame([], columns=TRUST),
        similarity=DataFrame(pairs).assign(measure="cka", value=0.25),
        cuts={model: ["a", "b", "c"] for model in ("r", *accuracies)},
        swatches={},
    )


def cells_of(given: Evidence) -> DataFrame:
    """The table of cells, where every model learnt from the data it is named after, or from d."""
    return cell_table(given, OWN)


def finding_of(given: Evidence) -> list[str]:
    """What is found beside the verdicts."""
    cells = cells_of(given)
    judged = verdicts(comparisons(cells, RULES), departures(cells, [], [], RULES), RULES.margin)
    return finding(cells, "d", judged, ["k"], ["cka"], [])[1:]


def test_a_receiver_of_other_data_is_not_said_to_classify_the_same_images():
    cells = cells_of(evidence({"s": 0.95}))
    judged = verdicts(comparisons(cells, RULES), departures(cells, [], [], RULES), RULES.margin)

    same, other = (finding(cells, home, judged, ["k"], ["cka"], [])[1] for home in ("d", "e"))

    assert "unstitched on the same images." in same
    assert "unstitched on those of e, its own." in other


def test_a_cell_stands_beside_its_receiver_its_ranks_and_its_similarity():
    (row,) = cells_of(evidence({"s": 0.95})).to_dict("records")

    assert {key: row[key] for key in KEYS} == {"sender": "s", "receiver": "r", **PLACE}
    assert row["accuracy"] == 0.95
    assert row["unstitched"] == 0.9
    assert row["difference"] == pytest.approx(0.05)
    assert row["relative"] == pytest.approx(0.95 / 0.9)
    assert (row["k"], row["receiver_k"], row["cka"]) == (5, 10, 0.25)


@pytest.mark.parametrize(
    ("cuts", "lies"),
    [
        ({"s": ["a", "b"], "r": ["a", "b"]}, "earlier"),
        ({"s": ["z", "a"], "r": ["b", "c"]}, "later"),
        ({"s": ["z", "a"], "r": ["x", "b", "c", "d", "e"]}, "level"),
    ],
)
def test_a_cell_says_where_its_senders_cut_lies(cuts: dict[str, list[str]], lies: str) -> None:
    """By how many cuts come before, in networks of different depths too (Hernandez et al. 2022, Section 3)."""
    (row,) = cells_of(replace(evidence({"s": 0.95}), cuts=cuts)).to_dict("records")

    assert row["sender_lies"] == lies


def test_a_cell_into_the_receivers_input_lies_later_and_has_no_layer_to_be_similar_to() -> None:
    given = evidence({"s": 0.95})
    swap = {"receiver_cut": INPUT}
    table = cells_of(replace(given, cells=given.cells.assign(**swap), audits=given.audits.assign(**swap)))

    assert table["sender_lies"].tolist() == ["later"]
    assert table["cka"].isna().tolist() == [True]
    assert cutting.INPUT == INPUT


def test_no_similarity_is_told_of_working_cells_that_have_none() -> None:
    """As of stitches into a network's input, which no layer is compared with."""
    swap = {"receiver_cut": INPUT}
    given = evidence({"s": 0.95})
    _, told, _ = finding_of(replace(given, cells=given.cells.assign(**swap), audits=given.audits.assign(**swap)))

    assert "k rank (each lowest" in told
    assert "cka" not in told


def test_controls_have_cells_of_their_own_with_what_they_are_held_against() -> None:
    given = evidence({"s": 0.95})
    swap = {"sender": "noise"}
    controls = where(given.cells, sender="s").assign(**swap)
    table = control_table(replace(given, controls=controls, control_audits=given.audits.assign(**swap)), OWN)
    (row,) = table.to_dict("records")

    assert (row["sender"], row["accuracy"], row["unstitched"], row["k"]) == ("noise", 0.95, 0.9, 5)
    assert (row["difference"], row["own"]) == pytest.approx((0.05, 0.9))
    assert control_table(given, OWN).empty


def test_similarity_is_that_from_the_sender_to_the_receiver_and_not_back():
    given = evidence({"s": 0.95})
    swap = {"model": "other_model", "other_model": "model", "cut": "other_cut", "other_cut": "cut"}
    back = given.similarity.rename(columns=swap).assign(value=0.75)
    both = pandas.concat([back, given.similarity])

    assert list(cells_of(replace(given, similarity=both))["cka"]) == [0.25]


def test_a_similarity_without_permutations_has_no_calibrated_value():
    table = cells_of(evidence({"s": 0.95}))

    assert "cka_calibrated" not in table
    assert "calibrated" not in " ".join(finding_of(evidence({"s": 0.95})))


def test_a_calibrated_value_is_found_and_counted_beside_the_raw_one():
    given = evidence({"s": 0.95, "t": 0.91})
    more = pandas.concat([given.similarity, given.similarity.assign(measure="cka_calibrated", value=0.125)])
    given = replace(given, similarity=more)

    assert list(cells_of(given)["cka_calibrated"]) == [0.125] * 2
    assert metrics(cells_of(given), ["cka"])["r"]["task"]["cka_calibrated_mean"] == 0.125
    unlike = cells_of(given).assign(cka=float("nan"))  # as of an input, which no layer is compared with
    assert "cka_mean" not in metrics(unlike, ["cka"])["r"]["task"]
    assert "cka calibrated, 0 being chance, of 0.12" in " ".join(finding_of(given))


@pytest.mark.parametrize(
    ("values", "text"),
    [([0.5, 0.5], "0.500 ± 0.000"), ([-0.5, 0.5], "0.000 ± 0.707"), ([-0.25], "−0.250"), ([float("nan")] * 2, "–")],
)
def test_what_is_shown_over_seeds_is_their_mean_and_deviation(values: list[float], text: str):
    assert spread(values) == text


def test_cells_keep_the_order_they_were_given_in():
    table = cells_of(evidence({"z": 0.9, "a": 0.9, "m": 0.9}))

    assert list(table["sender"]) == ["z", "a", "m"]


def test_other_measures_of_a_cell_are_kept():
    given = evidence({"s": 0.95})
    losses = where(given.cells, measure="accuracy").assign(measure="loss", value=0.3)
    cells = pandas.concat([given.cells, losses])

    assert list(cells_of(replace(given, cells=cells))["loss"]) == [0.3]


def test_an_accuracy_equal_to_the_receivers_is_as_good():
    table = cells_of(evidence({"below": 0.8999, "equal": 0.9, "above": 0.9001}))

    assert list(as_good(table)) == [False, True, True]


def test_the_finding_counts_cells_and_names_the_control():
    first, *_ = finding_of(evidence({"s": 0.95, "t": 0.5, "r": 0.9}))

    assert first.startswith("2 of 3 cells classify the test images of d at least as well as their receiver does")
    assert "By objective: task 2 of 3." in first
    assert "By sender: s 1 of 1, t 0 of 1, r 1 of 1." in first
    assert "into itself, a control, 1 of 1 do" in first


@pytest.mark.parametrize(
    ("senders", "words"),
    [
        (["s", "t", "d"], "Into d by the task objective. Of 2 stitches of other models: 1 uninformative, 1 open. "
         "Where they are uninformative, clustered noise reaches the receiver’s accuracy as well. "
         "Of 1 of its own, a control: 1 open."),
        (["d"], "Into d by the task objective. Of 1 of its own, a control: 1 open."),
        (["t"], "Into d by the task objective. Of 1 stitches of other models: 1 open."),
    ],
)  # fmt: skip
def test_the_finding_counts_verdicts_of_other_models_and_of_the_control_apart(senders: list[str], words: str) -> None:
    cells = cells_of(evidence({"s": 0.95}))
    rows = [
        {
            "receiver": "d", "objective": "task", "sender": sender,
            "verdict": "uninformative" if sender == "s" else "open", "as_well": "noise" if sender == "s" else "",
        }
        for sender in senders
    ]  # fmt: skip

    assert finding(cells, "d", DataFrame(rows), ["k"], ["cka"], [])[0] == words


def test_the_finding_says_how_far_apart_the_networks_of_working_stitches_are():
    _, second, third = finding_of(evidence({"s": 0.95, "r": 0.9}))

    assert "whose sender is another model than the receiver: 1." in second
    assert "0.50 times the receiver’s own k rank; cka of 0.25 between" in second
    assert "does not show that the two networks use or carry the same information" in third


def test_where_only_the_control_works_nothing_is_said_of_other_networks():
    assert len(finding_of(evidence({"s": 0.5, "r": 0.9}))) == 2


def test_where_nothing_works_the_stitch_may_be_why():
    _, last = finding_of(evidence({"s": 0.5}))

    assert last.startswith("No cell is as good as its receiver.")


@pytest.mark.parametrize("accuracies", [{"s": 1.0}, {"s": 0.0}, {"s": 0.95, "r": 0.95}])
def test_the_finding_never_calls_networks_similar(accuracies: dict[str, float]):
    text = " ".join(finding_of(evidence(accuracies)))

    assert "are similar" not in text
    assert "is similar" not in text


def test_metrics_hold_shares_and_means_of_each_receiver_and_objective():
    found = metrics(cells_of(evidence({"s": 0.95, "t": 0.5})), ["cka"])

    assert found == {
        "r": {
            "task": {
                "accuracy_mean": 0.725,
                "accuracy_min": 0.5,
                "unstitched_accuracy": 0.9,
                "share_at_or_above_unstitched": 0.5,
                "cka_mean": 0.25,
            }
        }
    }


def test_the_plot_has_a_mean_for_each_sender_cut_and_objective():
    given = example_evidence()
    plot = accuracy_plot(cells_of(given))
    cells = where(given.cells, measure="accuracy", sender="bw", receiver_cut="layer3", objective="direct")
    (row,) = where(plot, sender="bw", cut="layer3", objective="direct").to_dict("records")

    assert len(plot) == 50
    assert row["accuracy"] == pytest.approx(series(cells, "value").mean())
    assert row["unstitched"] == pytest.approx(0.978)


def test_the_plot_is_of_cells_that_are_cut_alike():
    """Where every layer goes into every other, the mean over a sender's layers is of no layer."""
    cells = cells_of(example_evidence())
    elsewhere = cells.assign(sender_cut="elsewhere", accuracy=0.0)

    assert accuracy_plot(pandas.concat([cells, elsewhere])).equals(accuracy_plot(cells))


def test_a_cell_of_some_classes_stands_beside_its_receiver_on_those():
    given = evidence({"s": 0.95})
    more = where(given.networks, measure="accuracy").assign(measure="accuracy_of_3", value=0.7)
    cells = cells_of(replace(given, networks=pandas.concat([given.networks, more]), classes=3))

    assert list(cells["unstitched"]) == [0.7]


def test_networks_show_what_they_reach_on_their_own_data_and_on_that_of_the_stitches():
    rows = [("r", 0, "own", 0.99), ("r", 0, "d", 0.4), ("s", 0, "d", 1.0)]
    networks = DataFrame(rows, columns=["model", "seed", "data", "value"]).assign(measure="accuracy")
    table = network_table(networks, {"r": "own", "s": "d"}, "d")

    assert table.to_dict("list") == {
        "model": ["r", "s"],
        "seed": [0, 0],
        "own_data": ["own", "d"],
        "own_accuracy": [0.99, 1.0],
        "accuracy": [0.4, 1.0],
    }


def test_tables_are_read_in_the_order_of_their_rows():
    table = DataFrame({"key": ["z", "a", "z"], "value": [1.0, 2.0, 3.0]})

    assert distinct(table, "key") == ["z", "a"]
    assert [key for (key,), _ in groups(table, "key")] == ["z", "a"]
    assert list(summarised(table, ["key"], "value", mean="mean", top="max")["mean"]) == [2.0, 2.0]
    assert list(where(table, key="z", value=3.0).index) == [2]
