"""Similarity of all pairs of layers, against its formulas pair by pair; how it grows, and what memory it takes.

The formulas take minutes where all pairs are compared, so one pair of layers is timed for each pair of shapes, on
which alone its time depends, and counts as often as there are such pairs.
"""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import repsim
import torch

from bench import direct
from bench.grid import single
from bench.networks import CLASSES, identity, images
from bench.ratios import Contender, Row, nothing, ratio_row, seconds, side_by_side, timed
from bench.sizes import Sizes
from pipeline.arrays import Activations, Held
from pipeline.cutting import Cuttable
from pipeline.models.small_resnet import SmallResNet
from pipeline.randomness import generator, seeded
from pipeline.registry import build
from pipeline.similarity import INDICES
from pipeline.similarity.base import Index
from pipeline.stages.extract import extract
from pipeline.store import Spec, Store, StoreWriter

CPU = torch.device("cpu")
NETWORKS = 5
MEMORY = 4 * 10**9
TIGHT = 10**7  # bytes, for what is to go through the disk
BLOCK = 256  # rows written at once
MARK = 20.0
Formula = Callable[[np.ndarray, np.ndarray], float]
FORMULAS: dict[str, tuple[dict[str, str], Formula, bool]] = {  # options, formula, whether it is symmetric
    "linear_cka": ({"estimator": "biased"}, direct.linear_cka, True),
    "pwcca": ({"weights": "raghu"}, direct.pwcca, True),
    "procrustes": ({"form": "squared"}, direct.procrustes, True),
    "least_squares": ({"form": "residual"}, direct.least_squares, False),
}


def rows(sizes: Sizes) -> Iterator[Row]:
    layers = extracted(sizes)
    pooled = [Held(layer.read(0, layer.shape[0]).mean((2, 3))) for layer in layers]
    ours, theirs = list[float](), list[float]()
    yield from _all_pairs("pooled", pooled, sizes.repetitions, ours, theirs)
    yield _features(pooled, sizes.repetitions)
    yield _peer([layer for layer in pooled if layer.shape[1] <= 2 * sizes.width], sizes.repetitions)
    yield from _all_pairs("flattened", layers, 1, ours, theirs)
    label = f"all of {', '.join(FORMULAS)}, pooled and flattened"
    yield single("measures", label, sum(ours), sum(theirs), f"pair by pair {seconds(sum(theirs))}", MARK)
    yield from _nine(sizes)
    yield from _growth(sizes)
    yield _memory(sizes)


def extracted(sizes: Sizes) -> list[Activations]:
    """The blocks of five untrained ResNet-18s, from their stores."""
    data, found = images(sizes.compared, sizes.image), list[Activations]()
    for number in range(NETWORKS):
        with seeded(number):
            network = SmallResNet((2, 2, 2, 2), sizes.width, "cifar").build(data.shape, CLASSES)
        model = Cuttable(network.eval().requires_grad_(False), data.shape)
        cuts, folder = model.select("bench", ["layer?.?"]), Path("measures") / str(number)
        specs = [Spec("test", cut.name, sizes.compared, cut.shape) for cut in cuts]
        writer = StoreWriter(folder / "scratch", replace(identity("raw"), seed=number), specs)
        extract(model, cuts, data, sizes.batch, writer, folder, CPU)
        writer.finish({"test": data.splits["test"].labels}, folder / "store")
        store = Store(folder / "store")
        found += [store.rows("test", cut.name) for cut in cuts]
    return found


def index(name: str) -> Index:
    return build(name, INDICES, name, {**FORMULAS[name][0], "of": "flattened"})


def _all_pairs(
    of: str, layers: Sequence[Activations], repetitions: int, ours: list[float], theirs: list[float]
) -> Iterator[Row]:
    """An index at a time; its seconds are added to both lists."""
    for name, (_, formula, symmetric) in FORMULAS.items():
        times, found = of_all(name, layers, repetitions)
        total, apart, pairs = by_formula(formula, layers, found, symmetric)
        assert apart <= 1e-6, f"{name} is {apart:g} from its formula"
        ours.append(min(times))
        theirs.append(total)
        label = f"{name} of {len(layers)} layers, {layers[0].shape[0]} samples, {of}; at most {apart:.0e} apart"
        yield Row(
            "measures", label, seconds(min(times)), f"{pairs} pairs by formula {seconds(total)}", 0,
            total / min(times), (total / max(times), total / min(times)), None,
        )  # fmt: skip


def of_all(name: str, layers: Sequence[Activations], repetitions: int) -> tuple[list[float], np.ndarray]:
    """Seconds of each repetition, and the matrix."""
    found, measure = list[np.ndarray](), index(name)
    times = [timed(lambda: found.append(measure.matrix(layers, MEMORY))) for _ in range(repetitions)]
    return times, found[0]


def by_formula(
    formula: Formula, layers: Sequence[Activations], found: np.ndarray, symmetric: bool
) -> tuple[float, float, int]:
    """Seconds of all pairs, the largest distance from what was found, and how many pairs there are."""
    numbers = range(len(layers))
    pairs = list(combinations_with_replacement(numbers, 2) if symmetric else product(numbers, numbers))
    alike = dict[tuple, list[tuple[int, int]]]()
    for one, other in pairs:
        shapes = layers[one].shape, layers[other].shape
        alike.setdefault(tuple(sorted(shapes)) if symmetric else shapes, []).append((one, other))
    total = apart = 0.0
    for group in alike.values():
        one, other = group[len(group) // 2]  # of two networks, mostly
        x, y = (np.array(layers[number].read(0, layers[number].shape[0])) for number in (one, other))
        values = list[float]()
        total += len(group) * timed(lambda x=x, y=y, v=values: v.append(formula(x, y)))
        apart = max(apart, abs(values[0] - found[one, other]))
    return total, apart, len(pairs)


def _features(layers: Sequence[Activations], repetitions: int) -> Row:
    """Not the kernels' formula but the one for narrow layers, whose products are a third of what it does."""
    times, found = of_all("linear_cka", layers, repetitions)
    theirs, apart, pairs = by_formula(direct.linear_cka_of_features, layers, found, symmetric=True)
    assert apart <= 1e-6, f"linear_cka is {apart:g} from its formula"
    name = f"linear_cka of {len(layers)} layers, {layers[0].shape[0]} samples, pooled, against features"
    return single("measures", name, min(times), theirs, f"{pairs} pairs by X'Y {seconds(theirs)}", None)


def _peer(layers: Sequence[Activations], repetitions: int) -> Row:
    """Against a package of PyPI that has it right; of narrow layers, for a wide pair takes it minutes."""
    times, found = of_all("pwcca", layers, repetitions)
    theirs, apart, pairs = by_formula(lambda x, y: float(repsim.pwcca([x, y])[0, 1]), layers, found, symmetric=True)
    assert apart <= 1e-6, f"pwcca is {apart:g} from repsim's"
    width = max(layer.shape[1] for layer in layers)
    name = f"pwcca of {len(layers)} layers up to {width} features, {layers[0].shape[0]} samples, against repsim"
    return single("measures", name, min(times), theirs, f"{pairs} pairs by repsim {seconds(theirs)}", MARK)


def _nine(sizes: Sizes) -> Iterator[Row]:
    """Nine layers of 64 to 512 features against the shortest loop that centres and takes norms once."""
    widths = [sizes.width * factor for factor in (1, 1, 1, 2, 2, 4, 4, 8, 8)]
    layers = synthetic(sizes.measured, widths)
    held, measure = [Held(layer) for layer in layers], index("linear_cka")
    assert np.abs(measure.matrix(held, MEMORY) - direct.cka_grid(layers)).max() <= 1e-6
    contenders = {
        "matrix": Contender(lambda: measure.matrix(held, MEMORY), nothing),
        "loop": Contender(lambda: direct.cka_grid(layers), nothing),
    }
    times = side_by_side(contenders, sizes.repetitions)
    name = f"linear_cka of 9 layers, {sizes.measured} samples, against a feature-space loop"
    yield ratio_row("measures", name, times, "matrix", ["loop"], 0, 1.0)


def synthetic(samples: int, widths: Sequence[int]) -> list[np.ndarray]:
    """Layers that share thirty directions, far from mean zero."""
    random = generator(0, "measures")
    shared = random.standard_normal((samples, 30))
    return [
        (shared @ random.standard_normal((30, width)) + random.standard_normal((samples, width)) + 3).astype(np.float32)
        for width in widths
    ]


def _growth(sizes: Sizes) -> Iterator[Row]:
    """Seconds by layers, of as many samples each; and by samples, of as many layers."""
    most, width = sizes.measured, 4 * sizes.width
    for name in FORMULAS:
        for kind, steps in (("layers", (5, 10, 20, 40)), ("samples", (most // 4, most // 2, most, 2 * most))):
            taken = list[float]()
            for step in steps:
                count, samples = (step, most // 4) if kind == "layers" else (NETWORKS, step)
                held = [Held(layer) for layer in synthetic(samples, [width] * count)]
                taken.append(min(timed(partial(index(name).matrix, held, MEMORY)) for _ in range(2)))
                label = f"{name} of {count} layers, {samples} samples, {width} features"
                against = f"{steps[0]} {kind} {seconds(taken[0])}"
                ratio = taken[0] / taken[-1]
                point = (f"{name} by {kind}", float(step), taken[-1])
                yield Row("growth", label, seconds(taken[-1]), against, 0, ratio, (ratio, ratio), None, point)


def _memory(sizes: Sizes) -> Row:
    """The most that NumPy held at a time with a budget of ten megabytes, and of as much with four times the samples."""
    peaks = [peak_of(factor * sizes.measured, 4 * sizes.width) for factor in (1, 4)]
    name = f"memory at {sizes.measured} samples and at four times as many, out of core"
    ratio = peaks[0] / peaks[1]
    return Row("measures", name, f"{peaks[1]:.3g} MB", f"{peaks[0]:.3g} MB", 0, ratio, (ratio, ratio), 0.8)


def peak_of(samples: int, width: int) -> float:
    """Megabytes of arrays that are not files, of all measures on layers that are."""
    layers = list[Activations]()
    for number in range(NETWORKS):
        random, path = generator(number, "peak"), Path(f"peak-{samples}-{number}.npy")
        rows = np.lib.format.open_memmap(path, "w+", np.float32, (samples, width))
        for start in range(0, samples, BLOCK):
            rows[start : start + BLOCK] = random.standard_normal(rows[start : start + BLOCK].shape)
        rows.flush()
        layers.append(Held(np.load(path, mmap_mode="r")))
    tracemalloc.start()
    for name in FORMULAS:
        index(name).matrix(layers, TIGHT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
