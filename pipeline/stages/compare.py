"""Stores of all networks → one similarity index for every pair of their layers, on the test split."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pandas

from pipeline import paths
from pipeline.arrays import Activations, Layer
from pipeline.atomic import write_text
from pipeline.errors import DataError, ParamsError
from pipeline.layers import Layers, opened
from pipeline.params import Params
from pipeline.progress import progress
from pipeline.randomness import generator
from pipeline.registry import build
from pipeline.relations import FewSamplesError
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.store import Store, open_store
from pipeline.tidying import tidy
from pipeline.uncertainty import against_chance, groups, jackknife_error
from pipeline.views import LayerError


def run(params: Params, name: str) -> None:
    index: Index = build(f"similarity.{name}", INDICES, name, params.similarity[name])
    rows = [row for data in params.extract.datasets for row in compare(params, name, index, data)]
    write_text(paths.comparison(name), pandas.DataFrame(rows).to_csv(index=False))
    kept = [paths.activations(*each) for each in product(params.models, params.seeds, params.extract.datasets)]
    tidy(paths.ACTIVATIONS, kept)


def compare(params: Params, name: str, index: Index, data: str) -> Iterator[dict[str, Any]]:
    """Every layer against every layer, in the order of models, seeds and cuts."""
    stores = {(model, seed): open_store(model, seed, data) for model, seed in product(params.models, params.seeds)}
    refuse_strangers(list(stores.values()))
    layers = [Layer(*network, cut) for network, store in stores.items() for cut in store.cuts]
    rows = [stores[layer.model, layer.seed].rows("test", layer.cut) for layer in layers]
    with named(name, data, layers):
        measures = measured(params, name, index, rows)
    for (one, layer), (two, other) in product(enumerate(layers), enumerate(layers)):
        keys = {"data": data, **layer._asdict(), **{f"other_{key}": value for key, value in other._asdict().items()}}
        for measure, matrix in measures.items():
            yield {**keys, "measure": measure, "value": float(matrix[one, two])}


def measured(params: Params, name: str, index: Index, rows: Sequence[Activations]) -> dict[str, np.ndarray]:
    """The index of every pair, and all it is to be read beside; NaN for pairs that it does not define."""
    with opened(rows, int(params.machine.memory_gb * 1e9)) as layers:
        count, facts = params.comparison.permutations, index.facts()
        random = generator(params.seed, "comparison", "permutations")  # the same orders for all indices
        orders = [random.permutation(layers.samples) for _ in range(count)]
        matrices = index.matrices(layers, [layers.as_they_are, *orders])
        values = next(matrices)
        found = {name: values}
        if count:
            drawn = progress(matrices, count, f"{name} by chance", "permutations")
            chance = against_chance(values, drawn, facts.best, facts.larger_is_more_similar)
            found |= {f"{name}_{kind}": matrix for kind, matrix in chance._asdict().items()}
        if params.comparison.groups:
            found[f"{name}_error"] = error(params, name, index, layers, values)
    return found


def error(params: Params, name: str, index: Index, layers: Layers, values: np.ndarray) -> np.ndarray:
    """Of the values of every pair, over samples."""
    count = params.comparison.groups
    if count > layers.samples:
        raise ParamsError(f"comparison.groups: is {count}; it should be at most {layers.samples}, the test samples")
    parts = groups(layers.samples, count, generator(params.seed, "comparison", "groups"))
    left: list[np.ndarray] = []
    for part in progress(parts, count, f"{name} without some", "groups"):
        with layers.without(part) as some:
            try:
                left.append(next(iter(index.matrices(some, [some.as_they_are]))))
            except FewSamplesError as wrong:
                wrong.args = (f"{wrong}; {len(part)} of {layers.samples} are left out for comparison.groups",)
                raise
    return jackknife_error(values, left, [len(part) for part in parts], index.facts().best)


@contextmanager
def named(name: str, data: str, layers: Sequence[Layer]) -> Iterator[None]:
    """What cannot be compared, told in one line with its name."""
    try:
        yield
    except LayerError as wrong:
        layer = "/".join(map(str, layers[wrong.number]))
        raise DataError(f"similarity.{name}: layer {layer} on {data} {wrong.wrong}") from wrong
    except FewSamplesError as wrong:
        raise ParamsError(f"similarity.{name}.{wrong}") from wrong


def refuse_strangers(stores: list[Store]) -> None:
    """Layers are comparable only where their rows are the same samples in the same order."""
    for store in stores[1:]:
        store.expect(inputs=stores[0].identity.inputs, samples=stores[0].identity.samples)
