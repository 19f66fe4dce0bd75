"""How the networks learned."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from pipeline.figures.base import Evidence, Figure, check_width
from pipeline.figures.style import colour, marker, scale_values, words
from pipeline.figures.tables import groups


@final
@dataclass(frozen=True)
class LearningCurves(Figure):
    """Training loss of every network by epoch, one line a network.

    Lines of one colour and mark are seeds of one model. Of models that learn from different datasets
    the height of one line beside another says how hard its data are, not how good it is.
    """

    width: float
    scale: Literal["linear", "log"]
    heading: ClassVar = "Learning curves"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        drawing = Drawing(figsize=(self.width, min(3.2, self.width * 0.5)), layout="constrained")
        axes, models = drawing.subplots(), list(evidence.cuts)
        lines = {}
        for (model, _), curve in groups(evidence.curves, "model", "seed"):
            (line,) = axes.plot(curve["epoch"], curve["loss"], color=colour(models, model), alpha=0.9)
            line.set(marker=marker(models, model), markeredgewidth=0)
            lines[words(model)] = line
        scale_values(axes, self.scale)
        axes.set_ylabel("training loss, mean over the epoch")
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")
        drawing.legend(list(lines.values()), list(lines), loc="outside right upper")
        return drawing
