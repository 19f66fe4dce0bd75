"""Tables of the page, from rows made for the purpose."""

from dataclasses import replace

import pandas
from pandas import DataFrame

from pipeline.figures.tables import where
from pipeline.showing import shown_controls, tallied_verdicts
from pipeline.verdicts import NOT, OPEN, PAIR
from pipeline.wide import control_table
from tests.unit.test_report import study
from tests.unit.test_summary import OWN, evidence


def test_controls_are_shown_as_means_over_seeds():
    given = evidence({"s": 0.95})
    noise = where(given.cells, sender="s").assign(sender="noise")
    worse = noise.assign(seed=1, value=noise["value"].mask(noise["measure"] == "accuracy", 0.85))
    networks = pandas.concat([given.networks, given.networks.assign(seed=1)])
    given = replace(
        given, controls=pandas.concat([noise, worse]), networks=networks, control_audits=given.audits.head(0)
    )
    params = study(controls={"noise": {"radius": 0.1, "classes": None}}, seeds=[0, 1])

    shown = shown_controls(control_table(given, OWN), params)

    assert shown.rows == (("r", "task", "noise", "b", "90.00 %", "85.00 % to 95.00 %", *["90.00 %"] * 2, "0.00"),)
    assert "means over 2 seeds" in shown.caption


def test_more_verdicts_than_a_page_can_show_are_counted():
    rows = [("r", "task", "s", "a", "b", name) for name in (NOT, NOT, OPEN)] + [("r", "task", "t", "a", "b", OPEN)]

    shown = tallied_verdicts(DataFrame(rows, columns=[*PAIR, "verdict"]))

    assert shown.columns == ("receiver", "objective", "sender", "stitches", OPEN, NOT)
    assert shown.rows == (("r", "task", "s", "3", "1", "2"), ("r", "task", "t", "1", "1", "0"))
