"""What params.yaml may say: the fields below, and no other. `loading` reads the file.

Options of variants stay plain mappings until `registry.build` types them.
"""

import math
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

Options = dict[str, Any]


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


@dataclass(frozen=True)
class Study:
    title: str
    question: str


@dataclass(frozen=True)
class Machine:
    """What this machine has to give. Never part of a hash: it moves no number beyond rounding."""

    device: str  # auto, cpu, cuda, cuda:1, mps
    memory_gb: float  # what one stage may hold in RAM
    threads: int  # of one task; 0 for as many as there are processors
    slots: int  # tasks of one stage at a time, each in a process of its own beyond the first

    def __post_init__(self) -> None:
        _require(
            bool(re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", self.device)),
            f"device: {self.device} is not a device; choose from auto, cpu, cuda, cuda:N, mps",
        )
        _require(self.memory_gb > 0, f"memory_gb: is {self.memory_gb:g}; it should be above 0")
        _require(self.threads >= 0, f"threads: is {self.threads}; it should be 0 or more")
        _require(self.threads > 0 or self.slots == 1, f"threads: is 0 with {self.slots} slots; it should be given")
        _require(self.slots >= 1, f"slots: is {self.slots}; it should be 1 or more")


@dataclass(frozen=True)
class Data:
    root: str  # of the raw files, from the repository's top; BACKSTITCH_DATA_ROOT goes before it
    download: bool  # whether missing benchmark files may be fetched; where not, they are refused at once


@dataclass(frozen=True)
class Recipe:
    """How weights are found by gradient descent, for networks and stitches alike."""

    optimiser: Literal["sgd", "adam"]
    lr: float
    momentum: float  # of sgd; adam ignores it
    weight_decay: float  # L2, added to the gradient
    decay: Literal["all", "matrices"]  # of every trained weight, or of none that is a vector: biases and norms
    schedule: Literal["constant", "cosine", "step"]
    milestones: tuple[int, ...]  # epochs after which `step` divides the rate by ten
    warmup_epochs: int  # the rate rises linearly over these, before the schedule
    epochs: int
    batch: int

    def __post_init__(self) -> None:
        _require(self.lr > 0 and math.isfinite(self.lr), f"lr: is {self.lr:g}; it should be above 0")
        _require(0 <= self.momentum < 1, f"momentum: is {self.momentum:g}; it should be from 0 to below 1")
        _require(self.weight_decay >= 0, f"weight_decay: is {self.weight_decay:g}; it should be 0 or more")
        _require(self.epochs >= 1, f"epochs: is {self.epochs}; it should be 1 or more")
        _require(
            0 <= self.warmup_epochs <= self.epochs,
            f"warmup_epochs: is {self.warmup_epochs}; it should be from 0 to the {self.epochs} epochs",
        )
        _require(self.batch >= 2, f"batch: is {self.batch}; it should be 2 or more")
        ordered = sorted(set(self.milestones)) == list(self.milestones)
        _require(
            ordered and all(0 < milestone < self.epochs for milestone in self.milestones),
            f"milestones: are {list(self.milestones)}; they should rise, from 1 to below the {self.epochs} epochs",
        )


@dataclass(frozen=True)
class BaseRecipe(Recipe):
    augment: tuple[str, ...]  # names in pipeline.augmentation, applied in this order


Norms = Literal["eval", "recalibrated", "batch"]


@dataclass(frozen=True)
class Labelling:
    """What the samples of a stitch are called, at training and at testing, if not by their own labels."""

    classes: int | None  # only samples of the first so many classes; null for all
    offset: int  # added to the label, around the number of classes
    permutation: tuple[int, ...] | None  # the class that each class is called, after that; null for its own

    def __post_init__(self) -> None:
        _require(self.classes is None or self.classes >= 2, f"classes: is {self.classes}; it should be 2 or more")
        named = sorted(self.permutation or ())
        _require(
            named == list(range(len(named))),
            f"permutation: is {list(self.permutation or ())}; it should name each class from 0 on once",
        )


@dataclass(frozen=True)
class Stitching(Recipe):
    """Which cells there are, and the recipe of those found by gradient descent."""

    data: str  # the dataset that stitches are trained and tested on
    towards: str  # the receiver's own data: the same, where its activations are to be of the same samples
    map: str  # a name in `stitches`
    pairs: Literal["matching", "all", "input"]  # each cut into its namesake, every one, or the receiver's input
    sender_bn: Norms  # whose statistics the sender's BatchNorms go by
    receiver_bn: Norms
    dropout: bool  # whether dropout in the frozen parts drops while a stitch is trained
    labels: Labelling

    @property
    def recipe(self) -> Recipe:
        """The part that gradient descent goes by."""
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})


@dataclass(frozen=True)
class Model:
    """An architecture, what it learns from, and how; with a seed it is one network."""

    architecture: str
    dataset: str
    recipe: str
    weights: str  # trained, random, a file under data.root, or torchvision's NAME_Weights.ENTRY


@dataclass(frozen=True)
class Extraction:
    datasets: tuple[str, ...]
    cuts: tuple[str, ...]  # names or patterns (layer?, blocks.*), in the network's own order
    layout: Literal["raw", "packed"]
    dtype: Literal["float32", "float16"]
    batch: int

    def __post_init__(self) -> None:
        _require(len(self.cuts) > 0, "cuts: is empty; it should name at least one cut or pattern")
        _require(self.batch >= 1, f"batch: is {self.batch}; it should be 1 or more")


@dataclass(frozen=True)
class Detection:
    """What detectors learn from beside the receiver's own data, and the intervals of what they tell."""

    auxiliary: str  # a dataset that is out of distribution, or the receiver's own where none is needed
    confidence: float  # of the intervals of AUROCs
    resamples: int  # that they are taken from

    def __post_init__(self) -> None:
        _require(0.5 <= self.confidence < 1, f"confidence: is {self.confidence:g}; it should be from 0.5 to below 1")
        _require(self.resamples >= 100, f"resamples: is {self.resamples}; it should be 100 or more")


@dataclass(frozen=True)
class Comparison:
    """What every similarity is read beside."""

    permutations: int  # of one layer's samples, for what unrelated layers would reach; 0 for none
    groups: int  # of samples, each left out once for the standard error; 0 for none

    def __post_init__(self) -> None:
        _require(self.permutations >= 0, f"permutations: is {self.permutations}; it should be 0 or more")
        _require(self.groups == 0 or self.groups >= 2, f"groups: is {self.groups}; it should be 2 or more, or 0")


@dataclass(frozen=True)
class Auditing:
    """What is taken of stitched activations."""

    ranks_at_cut: bool  # ranks of these themselves, besides those of what the receiver's first layer makes of them
    errors: bool  # mean squared differences to the receiver's own, and between what the objectives make of one pair


@dataclass(frozen=True)
class Verdicts:
    """The rules that verdicts are given by."""

    confidence: float  # of every interval
    margin: float  # a difference of accuracy that is none
    auroc: float  # above which a detector tells stitched activations from the receiver's own
    rank_ratio: float  # to the receiver's own rank, above which, or below one over which, a rank is another

    def __post_init__(self) -> None:
        _require(0.5 <= self.confidence < 1, f"confidence: is {self.confidence:g}; it should be from 0.5 to below 1")
        _require(0 <= self.margin < 1, f"margin: is {self.margin:g}; it should be from 0 to below 1")
        _require(0.5 <= self.auroc < 1, f"auroc: is {self.auroc:g}; it should be from 0.5 to below 1")
        _require(self.rank_ratio >= 1, f"rank_ratio: is {self.rank_ratio:g}; it should be 1 or more")


@dataclass(frozen=True)
class Published:
    """Numbers of a paper that are set beside what was measured."""

    paper: str  # a file of the folder published, at the repository's top
    places: tuple[str, ...]  # the paper's tables and figures whose numbers these are


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and which numbers would bear it out."""

    says: str
    place: str  # where the paper says it
    of: Literal["cells", "controls", "networks", "trials", "similarity"]
    where: Options  # values of their columns, one or a list each
    than: Options | None  # as `where`: the claim is then of the difference between both
    measure: str  # a column
    minus: str | None  # another one, which is taken from it row by row
    take: Literal["least", "mean", "greatest", "ever"]  # of means over seeds; `ever` is of single ones
    above: float | None  # what that should exceed
    below: float | None  # or fall short of; with both, where above is the smaller, it should be between, else outside

    def __post_init__(self) -> None:
        some = self.above is not None or self.below is not None
        _require(some, "above: is null, as below is; one of them should be a number, or both")
        alone = self.than is None and None in (self.above, self.below)
        _require(self.take != "ever" or alone, "take: is ever; it goes without than, and with one of above and below")

    def bears_out(self, value: float) -> bool:
        ends = [value > self.above] if self.above is not None else []
        ends += [value < self.below] if self.below is not None else []
        return any(ends) if self._outside else all(ends)

    @property
    def wanted(self) -> str:
        if self._outside:
            return f"below {self.below:g} or above {self.above:g}"
        ends = [f"{name} {end:g}" for name, end in (("above", self.above), ("below", self.below)) if end is not None]
        return " and ".join(ends)

    @property
    def _outside(self) -> bool:
        return self.above is not None and self.below is not None and self.above >= self.below


@dataclass(frozen=True)
class Params:
    root: str  # the way from this study's folder to the repository's top
    study: Study
    seed: int
    machine: Machine
    data: Data
    seeds: tuple[int, ...]
    datasets: dict[str, Options]
    architectures: dict[str, Options]
    recipes: dict[str, BaseRecipe]
    models: dict[str, Model]
    extract: Extraction
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    stitch: Stitching
    stitches: dict[str, Options]
    objectives: dict[str, Options]
    controls: dict[str, Options]  # none, {}, switches them off
    detectors: dict[str, Options]  # none, {}, switches them off
    detection: Detection
    audit: Auditing
    ranks: dict[str, Options]
    similarity: dict[str, Options]
    trials: dict[str, Options]  # none, {}, switches them off
    comparison: Comparison
    verdict: Verdicts
    published: Published | None
    claims: tuple[Claim, ...]
    figures: dict[str, Options]

    def stitching(self, objective: str) -> Stitching:
        """How stitches are made by the objective: the study's way, but for a recipe that the objective names."""
        name = self.objectives[objective].get("recipe")
        recipe = self.stitch if name is None else self.recipes[name]
        return replace(self.stitch, **{field.name: getattr(recipe, field.name) for field in fields(Recipe)})
