"""Made-up evidence, to try a figure on before there is a study; its numbers mean nothing."""

from itertools import product

import numpy as np
from pandas import DataFrame

from pipeline.figures.base import Evidence
from pipeline.randomness import generator
from pipeline.tables import BARS, CELL, CURVE, NETWORK, SIMILARITY, TRIAL, TRUST

MODELS = ("correlated", "digit", "colour", "colour_only", "bw")
CUTS = ("conv1", "layer1", "layer2", "layer3", "layer4")
SEEDS = (0, 1)
_CURVE = ["model", "seed", *CURVE]


def example_evidence() -> Evidence:
    """Rows as a study of five models, two seeds and five cuts would have them; always the same."""
    chance = generator(0, "example")
    return Evidence(
        cells=DataFrame(_cells(chance), columns=CELL),
        audits=DataFrame(_audits(chance), columns=CELL),
        controls=DataFrame(_controls(), columns=CELL),
        control_audits=DataFrame([], columns=CELL),
        bars=DataFrame(_bars(chance), columns=BARS),
        networks=DataFrame(_networks(chance), columns=NETWORK),
        curves=DataFrame(_curves(chance), columns=_CURVE),
        similarity=DataFrame(_similarity(chance), columns=SIMILARITY),
        detectors=DataFrame(_detectors(chance), columns=TRUST),
        trials=DataFrame(_trials(), columns=TRIAL),
        cuts={model: list(CUTS) for model in MODELS},
        swatches={model: _images(chance, 1 if model == "bw" else 3) for model in MODELS},
        originals=_pictures(chance, 3),
        paintings={(name, "digit", "task", "layer4", "input"): _pictures(chance, 1) for name in (*MODELS[:2], "noise")},
    )


def _places() -> list[tuple]:
    kinds = product(MODELS, SEEDS, CUTS, ("task", "direct"))
    return [(sender, "digit", seed, "correlated", cut, cut, "conv1x1", how) for sender, seed, cut, how in kinds]


def _detectors(chance: np.random.Generator) -> list[tuple]:
    return [
        ("digit", seed, cut, "mahalanobis", "held_out", round(chance.uniform(0.45, 0.6), 4))
        for seed in SEEDS
        for cut in CUTS
    ]


def _trials() -> list[tuple]:
    place = ("shortcut", "correlated", "linear_cka", "twins")
    rows = [(*place, "all", measure, value) for measure, value in (("value", 0.875), ("p", 0.01), ("chance", 0.5))]
    for index, model, cut, rank in product(("linear_cka", "procrustes"), MODELS, CUTS[:2], (16, 8, 4, 2, 1)):
        lost = 0.02 / rank * (1 + CUTS.index(cut)) if rank < 16 else 0.0
        place = ("sensitivity", "correlated", index, "truncation", f"{model}/0/{cut}/{rank}")
        rows += [(*place, "lost", lost), (*place, "similarity", (index == "linear_cka") - lost * MODELS.index(model))]
    return rows


def _cells(chance: np.random.Generator) -> list[tuple]:
    def accuracy(sender: str, cut: str, objective: str) -> float:
        worst = 0.012 * MODELS.index(sender) * CUTS.index(cut) if objective == "direct" else 0.01
        return round(1 - chance.uniform(0, worst + 0.002), 4)

    rows = []
    for place in _places():
        rows.append((*place, "accuracy", accuracy(place[0], place[4], place[7])))
        rows.append((*place, "samples", 360))
        rows.append((*place, "labelled", int(place[7] == "task")))
    return rows


def _controls() -> list[tuple]:
    """An untrained sender, and noise, which has no activations of the receiver's beside it and so no direct stitch."""
    kinds = [("random", "task", 0.9), ("random", "direct", 0.4), ("noise", "task", 0.99)]
    places = product(kinds, SEEDS, CUTS)
    return [
        (name, "digit", seed, "correlated", cut, cut, "conv1x1", how, "accuracy", value - 0.01 * seed)
        for (name, how, value), seed, cut in places
    ]


def _audits(chance: np.random.Generator) -> list[tuple]:
    own = {key: int(chance.integers(20, 28) * (5 - CUTS.index(key[1]))) for key in product(SEEDS, CUTS)}
    rows = []
    for place in _places():
        rank = own[place[2], place[4]]
        rows.append((*place, "numerical", round(rank / (1 + 0.3 * MODELS.index(place[0])) + chance.integers(0, 5))))
        rows.append((*place, "receiver_numerical", rank))
        auroc = round(chance.uniform(0.6, 0.98), 4)
        rows += [
            (*place, f"auroc_mahalanobis{end}", auroc + by) for end, by in (("", 0), ("_low", -0.02), ("_high", 0.02))
        ]
    return rows


def _bars(chance: np.random.Generator) -> list[tuple]:
    """Scores of the controls too; the noise's lie far out."""
    rows = []
    for name, how in [*product(MODELS, ("task", "direct")), ("noise", "task")]:
        for seed, cut in product(SEEDS, CUTS):
            own = np.exp(chance.standard_normal(360))
            stitched = np.exp(chance.standard_normal(360) + (4 if name == "noise" else MODELS.index(name) / 2))
            edges = np.geomspace(min(own.min(), stitched.min()), max(own.max(), stitched.max()), 17)
            counts = (np.histogram(side, edges)[0] for side in (own, stitched))
            place = (name, "digit", seed, how, cut, cut, "mahalanobis")
            rows += [(*place, *bar) for bar in zip(edges, edges[1:], *counts, strict=False)]
    return rows


def _networks(chance: np.random.Generator) -> list[tuple]:
    rows = []
    for model, seed in product(MODELS, SEEDS):
        rows.append((model, seed, model, "accuracy", round(chance.uniform(0.97, 1), 4)))
        rows.append((model, seed, model, "samples", 360))
        if model != "correlated":
            rows.append((model, seed, "correlated", "accuracy", 0.98 - 0.004 * seed))
            rows.append((model, seed, "correlated", "samples", 360))
        rows.append((model, seed, "correlated", "recalibrated_accuracy", 0.985))
    return rows


def _curves(chance: np.random.Generator) -> list[tuple]:
    networks = product(MODELS, SEEDS, range(1, 5))
    return [(model, seed, epoch, 0.1, chance.uniform(0.8, 1.2) * 0.5**epoch) for model, seed, epoch in networks]


def _similarity(chance: np.random.Generator) -> list[tuple]:
    layers = list(product(MODELS, SEEDS, CUTS))
    rows = []
    for one, other in product(layers, layers):
        near = 1 - abs(CUTS.index(one[2]) - CUTS.index(other[2])) / 5
        value = 1.0 if one == other else near * (0.9 if one[0] == other[0] else 0.6) - chance.uniform(0, 0.05)
        beside = {"": value, "_calibrated": (value - 0.1) / 0.9, "_null": 0.1, "_p": 0.01, "_error": 0.02}
        rows += [("correlated", *one, *other, f"linear_cka{kind}", number) for kind, number in beside.items()]
    return rows


def _pictures(chance: np.random.Generator, channels: int) -> np.ndarray:
    return chance.integers(0, 256, (8, channels, 28, 28), dtype=np.uint8)


def _images(chance: np.random.Generator, channels: int) -> dict[str, list[np.ndarray]]:
    def image() -> np.ndarray:
        return chance.integers(0, 256, (28, 28, channels), dtype=np.uint8)

    return {str(digit): [image(), image()] for digit in range(10)}
