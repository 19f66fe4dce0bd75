from pandas import DataFrame

from pipeline.believing import belief_table
from pipeline.tables import TRIAL

IDENTIFIED = ("layer_identification", "d")


def rows(*found: tuple[str, str, str, float]) -> DataFrame:
    """Of layer identification: index, part, measure and value; and of one cut, which the page does not show."""
    told = [(*IDENTIFIED, index, part, "all", measure, value) for index, part, measure, value in found]
    told += [(*IDENTIFIED, index, part, "layer1", "value", 0.123) for index, part, *_ in found]
    return DataFrame(told, columns=TRIAL)


def test_an_answer_stands_beside_its_interval_or_p_under_what_chance_has():
    found = belief_table(
        rows(
            ("mean_cca", "between", "value", 0.4567),
            ("mean_cca", "between", "low", -0.1),
            ("mean_cca", "between", "high", 0.9),
            ("mean_cca", "between", "chance", 0.25),
            ("mean_cca", "within", "value", 1.0),
            ("accuracy_task", "within", "value", 0.5),
            ("accuracy_task", "within", "p", 0.00123),
            ("residual_direct", "within", "value", 0.75),
        ),
        ["layer_identification"],
    )

    assert found.columns == (
        "index",
        "layers identified, between networks; chance 0.25",
        "layers identified, between networks, asked the other way",
        "layers identified, within a network",
    )
    assert found.rows == (
        ("mean cca", "0.46 (−0.10 to 0.90)", "–", "1.00"),
        ("accuracy, stitched by task", "–", "–", "0.50 (p 0.0012)"),
        ("residual, stitched by direct", "–", "–", "0.75"),
    )
    assert found.keys == 1


def test_chance_stands_beside_each_answer_where_it_is_not_the_same_for_all():
    numbers = {"x": 0.25, "y": 0.5}
    found = belief_table(
        rows(
            *((index, "within", measure, value) for index, value in numbers.items() for measure in ("value", "chance"))
        ),
        ["layer_identification"],
    )

    assert found.columns[3] == "layers identified, within a network"
    assert [row[3] for row in found.rows] == ["0.25 (chance 0.25)", "0.50 (chance 0.50)"]


def test_the_caption_says_what_each_trial_asks():
    found = belief_table(rows(("x", "between", "value", 1.0)), ["layer_identification", "layer_monotonicity"])

    assert "Whether the most similar layer is the one at the same place (Kornblith et al. 2019;" in found.caption
    assert "Whether similarity falls as layers of one network get further apart" in found.caption
    assert [row[-1] for row in found.rows] == ["–"]


def test_without_trials_there_is_no_row():
    assert belief_table(DataFrame(), []).rows == ()
