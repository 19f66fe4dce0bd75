"""A study's files as trials are given them; what is dear in that is kept in scratch, under all that decides it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas
from pandas import DataFrame

from pipeline import paths
from pipeline.arrays import Activations
from pipeline.atomic import digest, write_json
from pipeline.devices import choose
from pipeline.errors import ResourceError
from pipeline.figures.tables import where
from pipeline.imports import closure, code_digest
from pipeline.naming import kind_of
from pipeline.networks import read_plan
from pipeline.params import Params
from pipeline.probing import probe_accuracy
from pipeline.registry import build, module_of
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.stages import truncating
from pipeline.stages.compare import refuse_strangers
from pipeline.stages.designing import design
from pipeline.store import Store, open_store
from pipeline.tables import CELL, SIMILARITY, read_rows
from pipeline.trials.base import ACCURACY, RESIDUAL, Judged, Layer, Material, Network, Truncations
from pipeline.truncation import Truncation, features

DIRECT = "direct"  # the objective that truncations are held against by, too
_TOGETHER = 64  # samples of two cuts that are held against each other at a time


def material(params: Params) -> Material:
    """On the data of the stitches."""
    stores = {network: open_store(*network, params.stitch.data) for network in product(params.models, params.seeds)}
    refuse_strangers(list(stores.values()))
    cuts = {model: widths([stores[model, seed] for seed in params.seeds]) for model in params.models}
    layers = tuple(Layer(*network, cut) for network in stores for cut in cuts[network[0]])
    bench = Bench(params, stores)
    judged = [*_compared(params, layers, bench.signs), *_stitched(params, layers)]
    return Material(design(params, cuts), layers, judged, bench.probed, bench.truncated)


def widths(stores: Sequence[Store]) -> dict[str, int]:
    """Of a model's cuts that can be told apart, how many features each has."""
    return {cut: features(stores[0].rows("test", cut).shape) for cut in distinct(stores)}


def distinct(stores: Sequence[Store]) -> tuple[str, ...]:
    """The cuts that do not hold, in every store, the very numbers of an earlier one: as after a pool over one place."""
    kept: list[str] = []
    for cut in stores[0].cuts:
        if not any(all(_equal(store, cut, other) for store in stores) for other in kept):
            kept.append(cut)
    return tuple(kept)


def _equal(store: Store, one: str, other: str) -> bool:
    if prod(store.shape(one)) != prod(store.shape(other)):
        return False
    first, second = (store.rows("test", cut) for cut in (one, other))
    blocks = ((start, min(start + _TOGETHER, first.shape[0])) for start in range(0, first.shape[0], _TOGETHER))
    return all(np.array_equal(first.read(*block).ravel(), second.read(*block).ravel()) for block in blocks)


def _compared(params: Params, layers: Sequence[Layer], signs: Mapping[str, int]) -> Iterator[Judged]:
    """What `compare` found, turned so that the larger is the more similar."""
    places = {layer: number for number, layer in enumerate(layers)}
    for name in params.similarity:
        rows = where(read_rows(paths.comparison(name), SIMILARITY), data=params.stitch.data, measure=name)
        values = np.full((len(layers), len(layers)), np.nan)
        for _, model, seed, cut, other_model, other_seed, other_cut, _, value in rows.itertuples(index=False):
            pair = Layer(model, seed, cut), Layer(other_model, other_seed, other_cut)
            if all(layer in places for layer in pair):
                values[places[pair[0]], places[pair[1]]] = value
        yield Judged(name, signs[name] * values)


def _stitched(params: Params, layers: Sequence[Layer]) -> Iterator[Judged]:
    """What stitches say, from the sender's layer to the receiver's, where all pairs are stitched.

    Of each objective the accuracy and, where both networks saw the same images, how near its activations come to the
    receiver's own.
    """
    if params.stitch.pairs != "all":
        return
    pairs = list(product(params.senders, params.receivers, params.seeds))
    cells = pandas.concat([read_rows(paths.cells(*pair), CELL) for pair in pairs])
    distances = pandas.concat([read_rows(paths.distances(*pair), CELL) for pair in pairs])
    for name in params.objectives:
        yield Judged(f"{ACCURACY}{name}", _square(where(cells, measure="accuracy", objective=name), layers))
    for name in params.objectives:
        rows = where(distances, objective=name)
        if len(rows):
            yield Judged(f"{RESIDUAL}{name}", -_square(rows, layers))


def _square(rows: DataFrame, layers: Sequence[Layer]) -> np.ndarray:
    """The values of cells, from layer to layer."""
    places = {layer: number for number, layer in enumerate(layers)}
    values = np.full((len(layers), len(layers)), np.nan)
    for sender, receiver, seed, _, source, target, _, _, _, value in rows.itertuples(index=False):
        pair = Layer(sender, seed, source), Layer(receiver, seed, target)
        if all(layer in places for layer in pair):
            values[places[pair[0]], places[pair[1]]] = value
    return values


@dataclass(frozen=True)
class Bench:
    """Where layers are truncated and probed."""

    params: Params
    stores: Mapping[Network, Store]

    @cached_property
    def indices(self) -> dict[str, Index]:
        return {
            name: build(f"similarity.{name}", INDICES, name, options)
            for name, options in self.params.similarity.items()
        }

    @property
    def signs(self) -> dict[str, int]:
        return {name: 1 if index.facts().larger_is_more_similar else -1 for name, index in self.indices.items()}

    def probed(self, layer: Layer, decay: float) -> float:
        return self._probes(layer, self._truncation(layer, ()), decay)[0]

    def truncated(self, layer: Layer, ranks: tuple[int, ...], decay: float) -> Truncations:
        truncation = self._truncation(layer, ranks)
        judged = [Judged(name, self.signs[name] * self._values(layer, truncation, name)) for name in self.indices]
        if DIRECT in map(kind_of, self.params.objectives) and truncating.classifies(layer.model):
            judged.append(Judged(f"{ACCURACY}{DIRECT}", truncating.matched(self._seen_through(layer, truncation))))
        return Truncations(truncation.ranks, np.array(self._probes(layer, truncation, decay)), judged)

    def _probes(self, layer: Layer, truncation: Truncation, decay: float) -> list[float]:
        def make() -> list[float]:
            labels = {split: self.stores[layer[:2]].labels(split) for split in ("train", "test")}
            pairs = zip(truncation.pooled("train"), truncation.pooled("test"), strict=True)
            return [probe_accuracy((train, labels["train"]), (test, labels["test"]), decay) for train, test in pairs]

        return self._kept(layer, ["probe", truncation.wanted, decay], "pipeline.probing", make)

    def _seen_through(self, layer: Layer, truncation: Truncation) -> list[float]:
        """The network's accuracy with the layer at each rank."""

        def make() -> list[float]:
            device = choose(self.params.machine.device)
            return truncating.accuracies(self.stores[layer[:2]], layer.cut, truncation, device)

        asked = ["network", read_plan(layer.model).function, truncation.wanted]
        return self._kept(layer, asked, "pipeline.stages.truncating", make)

    def _values(self, layer: Layer, truncation: Truncation, name: str) -> np.ndarray:
        """Every truncation of the layer against every other, as the index has it."""

        def make() -> list[list[float]]:
            try:
                return self.indices[name].matrix(truncation.layers(), self._memory).tolist()
            except ValueError as error:
                error.add_note(f"truncations of {'/'.join(map(str, layer))}")
                raise

        module = module_of(INDICES, name)
        options = self.params.similarity[name]
        return np.array(self._kept(layer, [name, options, truncation.wanted], module, make))

    def _truncation(self, layer: Layer, ranks: tuple[int, ...]) -> Truncation:
        train, test = (self._rows(layer, split) for split in ("train", "test"))
        width = features(train.shape)
        needed = 4 * 8 * width**2
        if ranks and needed > self._memory:
            raise ResourceError(
                f"trials: the eigenbasis of {'/'.join(map(str, layer))}, {width} features wide, needs "
                f"{needed / 1e9:.3g} GB and has {self._memory / 1e9:.3g}; leave the cut out, or give more "
                "machine.memory_gb"
            )
        return Truncation(train, test, ranks)

    def _rows(self, layer: Layer, split: str) -> Activations:
        return self.stores[layer[:2]].rows(split, layer.cut)

    @property
    def _memory(self) -> int:
        return int(self.params.machine.memory_gb * 1e9)

    def _kept(self, layer: Layer, what: list[Any], module: str, make: Callable[[], Any]) -> Any:
        code = code_digest(closure("pipeline.truncation", module))
        key = digest(self.stores[layer[:2]].digest, layer.cut, what, code)
        path = paths.scratch("trial", f"{key}.json")
        if not path.exists():
            write_json(path, make())
        return json.loads(path.read_text())
