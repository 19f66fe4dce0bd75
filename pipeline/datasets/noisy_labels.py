"""Any dataset with labels that say nothing of the images, so that it is known what networks cannot have learnt."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from pipeline.arrays import Labels
from pipeline.datasets.base import Labelled, Normalisation, SameClasses, Split
from pipeline.randomness import generator


@final
@dataclass(frozen=True)
class NoisyLabels(SameClasses):
    """The images of another dataset; a share of the training labels, drawn at random, is drawn anew from all classes.

    As Zhang et al. (2017) corrupt labels, and Bansal et al. (2021) for their label noise: of those drawn anew, one in
    as many as there are classes stays what it was. Test labels are the true ones, so that accuracy tells what was
    learnt of the classes and not by heart.
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share: is {self.share:g}; it should be above 0, and at most 1")

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        source = self.source.load(root, split, seed)
        labels = self._drawn(source.labels, len(self.classes(root)), seed) if split == "train" else source.labels
        return Labelled(source.pixels, labels, tuple(f"noisy{self.share:g}/{name}" for name in source.ids))

    def _drawn(self, labels: Labels, classes: int, seed: int) -> Labels:
        random = generator(seed, "noisy_labels", self.share)
        drawn = random.permutation(len(labels))[: round(self.share * len(labels))]
        noisy = labels.copy()
        noisy[drawn] = random.integers(classes, size=len(drawn))
        return noisy

    def normalisation(self) -> Normalisation:
        return self.source.normalisation()

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()
