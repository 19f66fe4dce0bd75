"""Stores of all networks → one similarity index for every pair of their layers, on the test split."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pandas

from pipeline import paths
from pipeline.atomic import write_text
from pipeline.params import Params
from pipeline.registry import build
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.store import Store, open_store
from pipeline.tidying import tidy


class Layer(NamedTuple):
    model: str
    seed: int
    cut: str


def run(params: Params, name: str) -> None:
    index: Index = build(f"similarity.{name}", INDICES, name, params.similarity[name])
    memory = int(params.machine.memory_gb * 1e9)
    rows = [row for data in params.extract.datasets for row in compare(params, name, index, data, memory)]
    write_text(paths.comparison(name), pandas.DataFrame(rows).to_csv(index=False))
    kept = [paths.activations(*each) for each in product(params.models, params.seeds, params.extract.datasets)]
    tidy(paths.ACTIVATIONS, kept)


def compare(params: Params, name: str, index: Index, data: str, memory: int) -> Iterator[dict[str, Any]]:
    """Every layer against every layer, in the order of models, seeds and cuts."""
    stores = {(model, seed): open_store(model, seed, data) for model, seed in product(params.models, params.seeds)}
    refuse_strangers(list(stores.values()))
    layers = [Layer(*network, cut) for network, store in stores.items() for cut in store.cuts]
    rows = [stores[layer.model, layer.seed].rows("test", layer.cut) for layer in layers]
    try:
        matrix = index.matrix(rows, memory)
    except ValueError as error:
        error.add_note(f"layers of {data}: " + ", ".join(f"{i} {'/'.join(map(str, x))}" for i, x in enumerate(layers)))
        raise
    for (one, layer), (two, other) in product(enumerate(layers), enumerate(layers)):
        yield {
            "data": data, **layer._asdict(),
            **{f"other_{key}": value for key, value in other._asdict().items()},
            "measure": name, "value": float(matrix[one, two]),
        }  # fmt: skip


def refuse_strangers(stores: list[Store]) -> None:
    """Layers are comparable only where their rows are the same samples in the same order."""
    for store in stores[1:]:
        store.expect(inputs=stores[0].identity.inputs, samples=stores[0].identity.samples)
