"""Stitched accuracy over cuts, as Smith et al. (2025), figure 2b."""

from dataclasses import dataclass
from typing import ClassVar, final

from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.panels import add_key, cut_panels, cuts_of, draw_controls, draw_reference, draw_senders
from pipeline.figures.tables import alike, distinct, summarised, where


@final
@dataclass(frozen=True)
class AccuracyByCut(Figure):
    """Test accuracy of each stitched network, by the cut it is stitched at, one line a sender.

    Lines are means and bands the full range of results; each mark is one cell, of one cut in both networks where
    there are such. The dashed line is the receiver as it was trained, unstitched, on the data it is stitched towards.
    Dotted lines are controls, stitched in the senders' place, noise tested on its own classes: where noise or an
    untrained network does as well, the stitch says nothing of what senders learnt. Each panel has a scale of its own.
    Accuracy at or above the dashed line says that the receiver's tail can be made to classify what the sender gives;
    it does not say that the two networks carry the same information.
    """

    width: float
    heading: ClassVar = "Accuracy by cut"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        cells = alike(measured("figures.accuracy_by_cut", evidence.cells, "accuracy"))
        controls = where(evidence.controls, measure="accuracy")
        drawing, panels = cut_panels(cells, evidence, self.width)
        for axes, rows in panels:
            receiver, objective = distinct(rows, "receiver")[0], distinct(rows, "objective")[0]
            beside = where(controls, receiver=receiver, objective=objective)
            draw_senders(axes, rows, _ranges(rows, ["sender", "receiver_cut"]), evidence)
            draw_controls(axes, beside, cuts_of(rows, evidence.cuts[receiver]))
            # The receiver has no cut: its line goes from edge to edge.
            reference = _ranges(_unstitched(evidence, receiver), ["model"])
            draw_reference(axes, axes.get_xlim(), reference.loc[[0, 0]])
            axes.yaxis.set_major_formatter(lambda accuracy, _: f"{100 * accuracy:g}%")
            low, high = axes.get_ylim()
            axes.set_ylim(low, min(high, 1 + 0.04 * (1 - low)))  # room for marks at the top, and no tick above it
            axes.set_ylabel("test accuracy")
        add_key(drawing, evidence, distinct(cells, "sender"), "receiver, unstitched", distinct(controls, "sender"))
        return drawing


def _unstitched(evidence: Evidence, receiver: str) -> DataFrame:
    return where(evidence.networks, measure=evidence.unstitched("accuracy"), model=receiver, data=evidence.home)


def _ranges(rows: DataFrame, keys: list[str]) -> DataFrame:
    return summarised(rows, keys, "value", mean="mean", low="min", high="max")
