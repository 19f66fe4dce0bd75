from dataclasses import dataclass
from typing import ClassVar, final

from matplotlib.figure import Figure as Drawing

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.tables import groups


@final
@dataclass(frozen=True)
class AccuracyHistogram(Figure):
    """How many cells reach which accuracy, by objective.

    Bars of objectives stand on one another.
    """

    width: float
    heading: ClassVar = "Accuracies of all cells"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        cells = measured("figures.accuracy_histogram", evidence.cells, "accuracy")
        bars = {str(objective): rows["value"] for (objective,), rows in groups(cells, "objective")}
        drawing = Drawing(figsize=(self.width, self.width / 2), layout="constrained")
        axes = drawing.subplots()
        axes.hist(list(bars.values()), bins=20, range=(0, 1), stacked=True, label=list(bars))
        axes.set_xlabel(f"test accuracy on {evidence.data}")
        axes.set_ylabel("cells")
        axes.legend()
        return drawing
