"""What is measured of every layer stitched into every layer, as Hernandez et al. (2022), figures 2 and 4."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pandas
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.maps import Layer, Names, frames, leftmost, name_layers
from pipeline.figures.style import words
from pipeline.figures.tables import distinct, summarised, where

_HIGHEST = 1.5  # times as high as wide, whatever the numbers of layers


@final
@dataclass(frozen=True)
class LayerGrid(Figure):
    """One number of every layer of each sender (down) stitched into every layer of each receiver (across).

    A map for each objective, means over seeds; each block is a pair of networks, its layers from first to last. Where a
    block is as bright below its diagonal as on it, later layers can be stitched into all earlier ones. Read as
    similarity, such a map says of far-apart layers that they are alike: see it beside the same map of what detectors
    say, of another objective, and of similarity itself. Colours of accuracies go from 0 to the tenth above the highest,
    those of AUROCs from 0 to 1. What was not measured is blank.
    """

    width: float
    measure: str  # of cells, as accuracy, or of their audits, as auroc_energy
    heading: ClassVar = "Layer by layer"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        rows = measured("figures.layer_grid.measure", pandas.concat([evidence.cells, evidence.audits]), self.measure)
        down, across = (
            [(model, cut) for model in distinct(rows, side) for cut in _cuts(rows, evidence, side, model)]
            for side in ("sender", "receiver")
        )
        objectives = distinct(rows, "objective")
        names = Names(self.width, len(objectives), down, across)
        drawing, maps, beside = frames(self.width, len(objectives), names, min(len(down) / len(across), _HIGHEST))
        values = [_matrix(where(rows, objective=objective), down, across) for objective in objectives]
        low, high = self._scale(float(np.nanmin(values)), float(np.nanmax(values)))
        for axes, objective, matrix in zip(maps, objectives, values, strict=True):
            axes.imshow(matrix, vmin=low, vmax=high, cmap="cividis", aspect="auto")
            axes.set_title(words(objective))
            name_layers(axes, down, across, names, left=axes in leftmost(maps))
        drawing.colorbar(maps[0].images[0], cax=beside, label=words(self.measure))
        beside.spines[:].set_visible(False)
        return drawing

    def _scale(self, least: float, most: float) -> tuple[float, float]:
        """The numbers of the darkest and the brightest colour."""
        if self.measure.startswith("auroc_"):
            return 0.0, 1.0  # so that these maps have one scale in all studies
        return (0.0, math.ceil(10 * most) / 10) if self.measure == "accuracy" else (least, most)


def _cuts(rows: DataFrame, evidence: Evidence, side: str, model: str) -> list[str]:
    """Those of the model's cuts that it is stitched at, in its own order."""
    there = distinct(where(rows, **{side: model}), f"{side}_cut")
    return [cut for cut in evidence.cuts[model] if cut in there]


def _matrix(rows: DataFrame, down: list[Layer], across: list[Layer]) -> np.ndarray:
    means = summarised(rows, ["sender", "sender_cut", "receiver", "receiver_cut"], "value", mean="mean")
    values = {tuple(place): mean for *place, mean in means.itertuples(index=False, name=None)}
    return np.array([[values.get((*one, *other), np.nan) for other in across] for one in down])
