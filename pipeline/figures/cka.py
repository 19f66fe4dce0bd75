"""Similarity of all layers of all networks, as a heat map."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.figures.base import Evidence, Figure, check_width, measured
from pipeline.figures.maps import Layer, Names, frames, leftmost, name_layers
from pipeline.figures.style import words
from pipeline.figures.tables import distinct, where


@final
@dataclass(frozen=True)
class CKA(Figure):
    """Similarity of every layer of every network to every other, on the data of the stitches.

    Each block is a pair of networks, its layers from first to last. The left map compares
    networks of one seed. The right one, where the study has a second seed, compares networks of
    two seeds: its diagonal blocks show how near two trainings of one model come to each other,
    which is the yardstick for the other blocks. Calibrated values are 0 for layers as alike as if
    the samples of one were permuted; what is below 0 is drawn as 0.
    """

    width: float
    index: str  # a name in `similarity`
    value: Literal["raw", "calibrated"]  # the latter where there were permutations
    refers: ClassVar = {"index": "similarity"}
    heading: ClassVar = "Similarity of layers"

    def __post_init__(self) -> None:
        check_width(self.width)

    def draw(self, evidence: Evidence) -> Drawing:
        measure = self.index if self.value == "raw" else f"{self.index}_calibrated"
        rows = measured(f"figures.cka.{'index' if self.value == 'raw' else 'value'}", evidence.similarity, measure)
        rows = where(rows, data=evidence.data)
        layers = [(model, cut) for model, cuts in evidence.cuts.items() for cut in cuts]
        seeds = sorted(distinct(rows, "seed"))[:2]
        names = Names(self.width, len(seeds), layers, layers)
        drawing, maps, beside = frames(self.width, len(seeds), names)
        for axes, seed in zip(maps, seeds, strict=True):
            axes.imshow(_matrix(rows, layers, seeds[0], seed), vmin=0, vmax=1, cmap="cividis")
            axes.set_title(f"seed {seeds[0]} (down) by seed {seed} (across)")
            name_layers(axes, layers, layers, names, left=axes in leftmost(maps))
        drawing.colorbar(maps[0].images[0], cax=beside, label=f"{words(measure)} on {words(evidence.data)}")
        beside.spines[:].set_visible(False)
        return drawing


def _matrix(rows: DataFrame, layers: list[Layer], seed: int, other: int) -> np.ndarray:
    """Of each layer of one seed (down) to each of the other (across)."""
    of_seeds = where(rows, seed=seed, other_seed=other)
    keys = zip(of_seeds["model"], of_seeds["cut"], of_seeds["other_model"], of_seeds["other_cut"], strict=True)
    values = dict(zip(keys, of_seeds["value"], strict=True))
    # A pair that was not compared stays blank; the other way round would be another pair of seeds.
    return np.array([[values.get((*down, *across), np.nan) for across in layers] for down in layers])
