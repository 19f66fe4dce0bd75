"""Rank in the receiver over cuts, as Smith et al. (2025), figure 2c."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.panels import add_key, cut_panels, cuts_of, draw_controls, draw_reference, draw_senders
from pipeline.figures.style import scale_values, words
from pipeline.figures.tables import alike, distinct, summarised, where


@final
@dataclass(frozen=True)
class RankByCut(Figure):
    """Rank of what the receiver's first layer after the stitch gives, by cut, one line a sender.

    Lines are means and bands one standard deviation to either side, over seeds; each mark is one
    cell, of one cut in both networks where there are such. The dashed line is the same layer's rank in
    the unstitched receiver, dotted ones are what it gives of controls. Different ranks are
    evidence that the receiver is given something else than its own representation; equal ranks
    are no evidence that it is given the same.
    """

    width: float
    rank: str  # a name in `ranks`
    refers: ClassVar = {"rank": "ranks"}
    scale: Literal["linear", "log"]
    heading: ClassVar = "Rank by cut"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        ranks = alike(measured("figures.rank_by_cut.rank", evidence.audits, self.rank))
        controls = where(evidence.control_audits, measure=self.rank)
        own = measured("figures.rank_by_cut.rank", evidence.audits, f"receiver_{self.rank}")
        drawing, panels = cut_panels(ranks, evidence, self.width)
        for axes, rows in panels:
            draw_senders(axes, rows, _deviations(rows, ["sender", "receiver_cut"]), evidence)
            receiver, objective = distinct(rows, "receiver")[0], distinct(rows, "objective")[0]
            cuts = cuts_of(rows, evidence.cuts[receiver])
            draw_controls(axes, where(controls, receiver=receiver, objective=objective), cuts)
            reference = _deviations(_once_a_seed(where(own, receiver=receiver)), ["receiver_cut"])
            draw_reference(axes, list(map(float, range(len(cuts)))), reference.set_index("receiver_cut").loc[cuts])
            scale_values(axes, self.scale)
            axes.set_ylabel(f"{words(self.rank)} rank")
        add_key(drawing, evidence, distinct(ranks, "sender"), "receiver, unstitched", distinct(controls, "sender"))
        return drawing


def _once_a_seed(rows: DataFrame) -> DataFrame:
    """The receiver's own rank stands beside every cell; each seed's counts once."""
    return rows.drop_duplicates(["seed", "receiver_cut"])


def _deviations(rows: DataFrame, keys: list[str]) -> DataFrame:
    table = summarised(rows, keys, "value", mean="mean", deviation="std")
    deviation = table["deviation"].fillna(0)  # of the sample; one seed has none
    return table.assign(low=table["mean"] - deviation, high=table["mean"] + deviation)
