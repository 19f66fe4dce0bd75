from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, final

import numpy as np

from pipeline.layers import Layers
from pipeline.relations import agreement, distances, expect_four
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

    def matrices(self, layers: Layers, orders: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        samples, unbiased = layers.samples, self.estimator == "unbiased"
        if unbiased:
            expect_four(samples)
        tables = [partial(distances, layer, layer.diagonal()) for layer in layers.compacts(self.of, "centred")]
        for found in agreement(tables, orders, samples, layers.room, unbiased):
            yield found if unbiased else np.sqrt(np.clip(found, 0, 1))
