from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import compacts
from pipeline.relations import agreement, distances, expect_four, strips
from pipeline.similarity.base import RIGID, Facts, Index
from pipeline.views import Whole


@final
@dataclass(frozen=True)
class DistanceCorrelation(Index):
    """Correlation of the distances between samples in two layers.

    With A the Euclidean distances of X, centred in rows and columns, the biased one is the root of <A, B> / (|A| |B|)
    (Székely, Rizzo & Bakirov 2007); the unbiased one, of U-centred distances, has no root taken, being negative at
    times (Székely & Rizzo 2013).
    """

    estimator: Literal["biased", "unbiased"]
    of: Whole

    def facts(self) -> Facts:
        return Facts(True, (0.0 if self.estimator == "biased" else -1.0, 1.0), True, RIGID)

    def matrix(self, layers: Sequence[Activations], memory: int) -> np.ndarray:
        samples, unbiased = layers[0].shape[0], self.estimator == "unbiased"
        if unbiased:
            expect_four(samples)
        with compacts(layers, self.of, "centred", memory) as (small, room):
            ready = [(layer, layer.diagonal()) for layer in small]
            tables = ((part, [distances(*each, part) for each in ready]) for part in strips(small, room))
            found = agreement(tables, samples, unbiased)
        return found if unbiased else np.sqrt(np.clip(found, 0, 1))
