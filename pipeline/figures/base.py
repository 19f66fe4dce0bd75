"""The contract of figures: tidy tables in, a Matplotlib figure out, no computation in between."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure as Drawing
from pandas import DataFrame

from pipeline.arrays import first_classes
from pipeline.errors import ParamsError, choices
from pipeline.figures.tables import distinct, where

SWATCHES, SWATCH_CLASSES = 4, 20  # images of a class, and classes of a dataset, that figures are given
INPUT = "input"  # where a stitch paints, under the name it has in `cutting`, which would import torch


Place = tuple[str, str, str, str, str]  # sender, receiver, objective, sender's cut, receiver's cut


@dataclass(frozen=True)
class Evidence:
    """All rows of a study; one number a row, what it is of in the columns before it.

    cells       sender receiver seed data sender_cut receiver_cut map objective measure value
    audits      as cells; measure is a rank's name, or the same with `receiver_` before it for the
                receiver's own representation at the same place; or distance, to those; or what a detector tells
                of the stitched activations and the receiver's own: auroc_, the same with _low and _high after it,
                average_precision_ or fpr_at_95_, and its name
    bars        sender receiver seed objective sender_cut receiver_cut detector low high own stitched; how many of
                the receiver's own test samples, and of stitched ones, the detector scores from low to high
    detectors   receiver seed cut detector measure value; how far each can be trusted
    controls, control_audits  the same of the receivers' controls; sender is a control's name
    networks    model seed data measure value; accuracy of each whole network, unstitched, and its
                recalibrated_accuracy with BatchNorms that expect this dataset; either followed by
                _of_K is the same on the images of the first K classes
    curves      model seed epoch rate loss
    similarity  data model seed cut other_model other_seed other_cut measure value; measure is an index's
                name, or the same followed by _calibrated, _null, _p or _error
    trials      trial data index part of measure value; how far each index can be believed
    cuts        of each model, in its own order
    originals   the first test images of the cells' dataset, N × C × H × W bytes
    paintings   what cells make of those, where they make images: by (sender, receiver, objective,
                sender_cut, receiver_cut), of the first seed; and what cells of controls make
    swatches    of each dataset, the first SWATCHES images (H × W × C bytes) of each of its first
                SWATCH_CLASSES classes, by class name
    """

    cells: DataFrame
    audits: DataFrame
    controls: DataFrame
    control_audits: DataFrame
    bars: DataFrame
    networks: DataFrame
    curves: DataFrame
    similarity: DataFrame
    detectors: DataFrame
    cuts: dict[str, list[str]]
    swatches: dict[str, dict[str, list[np.ndarray]]]
    trials: DataFrame = field(default_factory=DataFrame)  # empty where there are none
    towards: str = ""  # the receivers' own dataset, where that is another than the senders'
    classes: int | None = None  # of the cells' samples only those of the first so many classes; None for all
    own: dict[str, str] = field(default_factory=dict)  # of each model, the dataset that it learnt
    originals: np.ndarray = field(default_factory=lambda: np.empty((0, 3, 1, 1), np.uint8))
    paintings: dict[Place, np.ndarray] = field(default_factory=dict)

    @property
    def data(self) -> str:
        """The dataset that the cells were trained and tested on."""
        return distinct(self.cells, "data")[0]

    @property
    def home(self) -> str:
        """The dataset on which receivers are held against their stitches."""
        return self.towards or self.data

    def unstitched(self, measure: str) -> str:
        """The name of a network's `measure` on the images that its stitches are held against."""
        return measure if self.classes is None or self.home != self.data else first_classes(measure, self.classes)


class Figure(ABC):
    """A variant's fields are its options; every one has `width`, in inches.

    Its own docstring is printed under it on the page: the first line stands in for the picture
    where that cannot be seen, the rest says how to read it.
    """

    heading: ClassVar[str]
    refers: ClassVar[Mapping[str, str]] = {}  # options that are names, and the sections of params that define them

    @abstractmethod
    def draw(self, evidence: Evidence) -> Drawing:
        """The figure, publication-ready."""


def measured(place: str, table: DataFrame, measure: str) -> DataFrame:
    """The rows of `table` that hold `measure`; `place` is the option that asked for it."""
    rows = where(table, measure=measure)
    if rows.empty:
        raise ParamsError(f"{place}: {measure} was not measured; {choices(measure, distinct(table, 'measure'))}")
    return rows


def check_width(width: float) -> None:
    if not 1 <= width <= 40:
        raise ValueError(f"width: is {width:g} inches; it should be from 1 to 40")
