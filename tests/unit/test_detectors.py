"""Detectors: each against an independent answer, and all against activations whose truth is known."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from scipy.spatial.distance import mahalanobis
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from pipeline.detectors import DETECTORS
from pipeline.detectors.base import Data, Detector, Fitted, Loss, Setting, energy
from pipeline.detectors.energy import Energy
from pipeline.detectors.features import Features
from pipeline.detectors.mahalanobis import Mahalanobis
from pipeline.detectors.nearest import Nearest
from pipeline.detectors.networks import Flat, Maps, Tokens
from pipeline.detectors.tail_energy import TailEnergy
from pipeline.mixing import Mixed
from pipeline.params import BaseRecipe, Recipe
from pipeline.randomness import seed_for
from pipeline.reading import batches_of
from pipeline.registry import build, typed
from pipeline.separation import auroc
from pipeline.training import Feed, fit
from pipeline.weights import read, save_tensors
from tests.property.test_similarity import Held

CPU = torch.device("cpu")
MEMORY = 10**9
CLASSES = 3
SHAPES = {"maps": (6, 4, 4), "tokens": (5, 8), "flat": (12,)}
ENERGY: dict[str, Any] = {
    "pretraining": "learns",
    "finetuning": "parts",
    "margin_inside": -25,
    "margin_outside": -7,
    "weight": 0.1,
    "temperature": 1,
    "maps": {"size": 8, "blocks": [1, 1], "width": 8},
    "tokens": {"depth": 1, "heads": 2},
    "flat": {"depth": 1, "width": 32},
}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("energy", ENERGY),
    ("mahalanobis", {"of": "pooled", "shrinkage": 0.0, "cutoff": 1e-9}),
    ("mahalanobis", {"of": "flattened", "shrinkage": 0.1, "cutoff": 1e-9}),
    ("nearest", {"of": "pooled", "k": 5, "normalise": True}),
    ("nearest", {"of": "flattened", "k": 5, "normalise": False}),
    ("tail_energy", {"temperature": 1.0}),
]
every = pytest.mark.parametrize(("name", "options"), OPTIONS)
everywhere = pytest.mark.parametrize("kind", SHAPES)


def detector(name: str, options: dict) -> Detector:
    return build(f"detectors.{name}", DETECTORS, name, options)


def recipe(epochs: int) -> Recipe:
    return Recipe("adam", 1e-2, 0.0, 1e-5, "all", "constant", (), 0, epochs, 50)


RECIPES = {"learns": recipe(6), "parts": recipe(12)}


class World:
    """Activations of three classes, of none, and of auxiliary data that are neither."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        self.shape, self.random = shape, np.random.default_rng(seed)
        self.axes = (shape[0], *[1] * (len(shape) - 1)) if len(shape) == 3 else (*[1] * (len(shape) - 1), shape[-1])
        features = max(self.axes)
        self.centres = 5 * np.linalg.qr(self.random.standard_normal((features, features)))[0][:CLASSES]

    def inside(self, samples: int) -> tuple[Held, np.ndarray]:
        labels = np.arange(samples) % CLASSES
        rows = self.centres[labels].reshape(samples, *self.axes) + self.random.standard_normal((samples, *self.shape))
        return Held(rows.astype(np.float32)), labels

    def outside(self, samples: int) -> Held:
        return Held(self.random.standard_normal((samples, *self.shape)).astype(np.float32))

    def auxiliary(self, samples: int) -> Held:
        return Held(self.random.uniform(-3, 3, (samples, *self.shape)).astype(np.float32))

    def tail(self) -> nn.Module:
        return Tail(torch.from_numpy(self.centres.astype(np.float32)), tuple(range(-1, -len(self.shape), -1)))


class Tail(nn.Module):
    """Logits by the inner product with each class's centre."""

    def __init__(self, centres: Tensor, places: tuple[int, ...]) -> None:
        super().__init__()
        self.centres, self.places = centres, places if len(places) != 1 else (1,)

    def forward(self, x: Tensor) -> Tensor:
        return (x.mean(self.places) if x.ndim > 2 else x) @ self.centres.T


def setting(world: World, samples: int = 300, seed: int = 7, memory: int = MEMORY) -> Setting:
    """As a stage would make it."""
    rows, labels = world.inside(samples)
    own = batches_of(rows, labels, memory, CPU)
    beside = world.auxiliary(samples)
    others = batches_of(beside, np.full(samples, -1), memory, CPU)
    feeds = {"own": own, "mixed": Mixed(own, others)}

    def descend(module: nn.Module, loss: Loss, data: Data, recipe: str) -> None:
        fit(module, loss, feeds[data], RECIPES[recipe], seed_for(seed, data), f"detector {data}")

    return Setting(rows, labels, CLASSES, world.tail(), CPU, memory, seed, descend)


def flat_setting(rows: np.ndarray, labels: np.ndarray, memory: int = MEMORY) -> Setting:
    """For what trains nothing."""
    return Setting(
        Held(rows), labels, CLASSES, nn.Identity(), CPU, memory, 0, lambda *_: pytest.fail("something was trained")
    )


def fitted(name: str, options: dict, world: World, **more: int) -> Fitted:
    return detector(name, options).fit(setting(world, **more))


def test_every_detector_is_tested_and_goes_by_the_name_of_its_file() -> None:
    assert {name for name, _ in OPTIONS} == set(DETECTORS)
    for name, place in DETECTORS.items():
        module, _, cls = place.partition(":")
        assert module == f"pipeline.detectors.{name}"
        assert issubclass(getattr(import_module(module), cls), Detector)


def test_what_trains_says_so() -> None:
    told = {name: (found.trained, found.auxiliary) for name, found in ((n, detector(n, o)) for n, o in OPTIONS)}

    assert told.pop("energy") == (True, True)
    assert set(told.values()) == {(False, False)}
    assert detector("energy", ENERGY).recipes == ("learns", "parts")


@every
@everywhere
def test_what_is_outside_is_told_from_what_is_inside_and_fresh_samples_are_not(
    name: str, options: dict, kind: str
) -> None:
    world = World(SHAPES[kind])
    found = fitted(name, options, world)
    (first, _), (second, _) = world.inside(300), world.inside(300)

    scores = found.scores(first)

    assert scores.dtype == np.float64
    assert auroc(scores, found.scores(world.outside(300))) > 0.9
    assert auroc(scores, found.scores(second)) == pytest.approx(0.5, abs=0.08)


@every
@everywhere
def test_rows_are_scored_one_by_one(name: str, options: dict, kind: str) -> None:
    world = World(SHAPES[kind])
    found = fitted(name, options, world, samples=60)
    rows = world.outside(40).rows
    order = np.random.default_rng(1).permutation(40)

    scores = found.scores(Held(rows))

    assert found.scores(Held(rows[order])) == pytest.approx(scores[order], rel=1e-5)
    assert found.scores(Held(rows[3:4])) == pytest.approx(scores[3:4], rel=1e-5)


@every
@everywhere
def test_one_seed_gives_the_same_bytes_and_a_state_gives_the_same_detector(
    name: str, options: dict, kind: str, tmp_path
) -> None:
    rows = World(SHAPES[kind]).outside(20)
    one, again = (fitted(name, options, World(SHAPES[kind]), samples=60) for _ in range(2))

    save_tensors(one.state(), tmp_path / "state.safetensors")
    taken_up = detector(name, options).load(
        setting(World(SHAPES[kind]), samples=60), read(tmp_path / "state.safetensors")
    )

    assert one.scores(rows).tobytes() == again.scores(rows).tobytes() == taken_up.scores(rows).tobytes()
    if detector(name, options).trained:
        other = fitted(name, options, World(SHAPES[kind]), samples=60, seed=8)
        assert not np.array_equal(other.scores(rows), one.scores(rows))


@pytest.mark.parametrize(("name", "options"), OPTIONS[1:])
@everywhere
def test_the_memory_it_may_hold_moves_nothing(name: str, options: dict, kind: str) -> None:
    """No more than a covariance takes: training rows are read in blocks, each time they are wanted."""
    world = World(SHAPES[kind])
    given_, rows = setting(world, samples=400), world.outside(30)
    width = Features(rows, options.get("of", "pooled")).width
    small = Setting(**{**vars(given_), "memory": 80 * width**2 + 100})

    wanted = detector(name, options).fit(given_).scores(rows)

    assert detector(name, options).fit(small).scores(rows) == pytest.approx(wanted, rel=1e-9)


# Mahalanobis


def mixture(samples: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlated rows around three centres far from zero, and others."""
    random = np.random.default_rng(seed)
    mixing = random.standard_normal((features, features))
    labels = random.integers(0, 3, samples)
    rows = random.standard_normal((samples, features)) @ mixing + 3 * random.standard_normal((3, features))[labels] + 20
    return rows, labels, random.standard_normal((25, features)) * 4 + 20


def by_the_book(rows: np.ndarray, labels: np.ndarray, asked: np.ndarray, shrinkage: float) -> np.ndarray:
    """Through `scipy.spatial.distance.mahalanobis` and the inverse itself."""
    means = {label: rows[labels == label].mean(0) for label in np.unique(labels)}
    apart = rows - np.array([means[label] for label in labels])
    covariance = apart.T @ apart / len(rows)
    ball = np.trace(covariance) / rows.shape[1] * np.eye(rows.shape[1])
    inverse = np.linalg.pinv((1 - shrinkage) * covariance + shrinkage * ball, rcond=1e-9, hermitian=True)
    return np.array([min(mahalanobis(row, mean, inverse) ** 2 for mean in means.values()) for row in asked])


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_mahalanobis_of_features_that_depend_on_each_other(shrinkage: float) -> None:
    rows, labels, asked = mixture(100, 4)
    spread = np.random.default_rng(2).standard_normal((4, 7))
    found = Mahalanobis("flattened", shrinkage, 1e-9).fit(flat_setting(rows @ spread, labels))

    assert found.scores(Held(asked @ spread)) == pytest.approx(
        by_the_book(rows @ spread, labels, asked @ spread, shrinkage), rel=1e-7
    )


def test_directions_that_never_vary_are_seen_with_shrinkage_only() -> None:
    rows, labels, _ = mixture(100, 5)
    rows[:, 4] = 1.0
    moved = rows.copy()
    moved[:, 4] = 30.0

    blind, seeing = (
        Mahalanobis("flattened", shrinkage, 1e-9).fit(flat_setting(rows, labels)) for shrinkage in (0.0, 0.1)
    )

    assert blind.scores(Held(moved)) == pytest.approx(blind.scores(Held(rows)), rel=1e-9)
    assert auroc(seeing.scores(Held(rows)), seeing.scores(Held(moved))) == 1


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), samples=st.integers(8, 40), features=st.integers(1, 8))
def test_mahalanobis_distances_survive_every_invertible_map(seed: int, samples: int, features: int) -> None:
    rows, labels, asked = mixture(samples + features, features, seed)
    labels[:3] = range(3)
    random = np.random.default_rng(seed)
    turned = np.linalg.qr(random.standard_normal((features, features)))[0] * random.uniform(0.5, 2, features)

    one, other = (Mahalanobis("flattened", 0.0, 1e-12).fit(flat_setting(x, labels)) for x in (rows, rows @ turned - 3))

    assert other.scores(Held(asked @ turned - 3)) == pytest.approx(one.scores(Held(asked)), rel=1e-4)


def test_pooled_is_the_mean_over_places_and_over_tokens() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    for shape, places in (((6, 2, 3), (2, 3)), ((7, 5), 1)):
        rows, asked = random.standard_normal((60, *shape)), random.standard_normal((9, *shape))
        wanted = Mahalanobis("flattened", 0.1, 1e-9).fit(flat_setting(rows.mean(places), labels))

        found = Mahalanobis("pooled", 0.1, 1e-9).fit(flat_setting(rows, labels))

        assert found.scores(Held(asked)) == pytest.approx(wanted.scores(Held(asked.mean(places))), rel=1e-9)


def test_what_mahalanobis_cannot_do_is_one_line() -> None:
    rows, labels, _ = mixture(30, 200)

    with pytest.raises(ValueError, match=r"of: is flattened, and 200 .* of 30 samples need 0\.000317 GB of 1e-05"):
        Mahalanobis("flattened", 0.0, 1e-9).fit(flat_setting(rows, labels, memory=10_000))
    for still in (rows[labels], rows[labels][:, :3]):
        with pytest.raises(ValueError, match="of: flattened activations are the same for all samples of a class"):
            Mahalanobis("flattened", 0.5, 1e-9).fit(flat_setting(still, labels))


# Nearest neighbours


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(1, 50),
    features=st.integers(1, 6),
    part=st.floats(0, 1),
    normalise=st.booleans(),
    memory=st.integers(1, 20_000),
)
def test_nearest_is_scikit_learns(
    seed: int, samples: int, features: int, part: float, normalise: bool, memory: int
) -> None:
    """`NearestNeighbors` by its exact tree, far from zero too; among the asked are training rows, at distance 0."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((samples, features)).round(1) + random.choice([0, 1000])
    asked = np.vstack([random.standard_normal((20, features)), rows[:5]])
    k = 1 + int(part * (samples - 1))
    train, test = (
        x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) if normalise else x for x in (rows, asked)
    )
    wanted = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(train).kneighbors(test)[0][:, -1]

    found = Nearest("flattened", k, normalise).fit(flat_setting(rows, np.zeros(samples, np.int64), memory))

    assert found.scores(Held(asked)) == pytest.approx(wanted, rel=1e-9, abs=1e-7)


def test_nearest_needs_as_many_neighbours_as_it_counts() -> None:
    with pytest.raises(ValueError, match="k: is 4; it should be 3 or less, as many as there are training samples"):
        Nearest("pooled", 4, True).fit(flat_setting(np.zeros((3, 2)), np.zeros(3, np.int64)))


def test_a_row_of_zeros_has_no_direction() -> None:
    rows = np.array([[0.0, 0.0], [3.0, 0.0]])
    found = Nearest("pooled", 1, True).fit(flat_setting(rows, np.zeros(2, np.int64)))

    assert found.scores(Held(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))) == pytest.approx([0, 0, 1])


# Energies


def energy_detector(**changed: Any) -> Energy:
    return build("detectors.energy", DETECTORS, "energy", {**ENERGY, **changed})


def test_margins_that_are_kept_cost_nothing() -> None:
    logits = torch.tensor([[30.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    labels = torch.tensor([0, -1])

    assert float(energy_detector().loss(logits, labels)) == pytest.approx(0, abs=1e-12)
    assert energy(logits, 1.0)[1].item() == pytest.approx(-1 - np.log(2))


@everywhere
def test_fine_tuning_brings_energies_towards_their_margins(kind: str) -> None:
    world = World(SHAPES[kind])
    found = fitted("energy", ENERGY, world)

    inside, outside = found.scores(world.inside(200)[0]), found.scores(world.auxiliary(200))

    assert np.median(inside) < -15
    assert np.median(outside) > -15
    assert auroc(inside, outside) > 0.95


@pytest.mark.parametrize(("channels", "count"), [(3, 11_173_962), (64, 11_173_962 + 61 * 9 * 64)])
def test_the_network_for_maps_is_the_papers_resnet(channels: int, count: int) -> None:
    network = Maps(32, (2, 2, 2, 2), 64).build(channels, 10)

    assert sum(p.numel() for p in network.parameters()) == count
    assert network(torch.zeros(2, channels, 4, 4)).shape == (2, 10)


def test_the_network_for_tokens_is_the_papers_transformer() -> None:
    network = Tokens(12, 3).build(192, 10)

    assert sum(p.numel() for p in network.parameters()) == 5_340_682
    assert network(torch.zeros(2, 65, 192)).shape == (2, 10)


def test_maps_are_resized_as_torch_does_bilinearly() -> None:
    rows = torch.rand(2, 3, 5, 5)

    assert torch.equal(
        Maps(8, (1,), 4).build(3, 2)[0](rows),  # pyright: ignore[reportIndexIssue]
        nn.functional.interpolate(rows, size=(8, 8), mode="bilinear", align_corners=False),
    )


def test_heads_that_do_not_divide_the_tokens_are_refused_with_the_cut() -> None:
    world = World(SHAPES["tokens"])

    with pytest.raises(ValueError, match="heads: is 3; it should divide the tokens' 8 features"):
        fitted("energy", {**ENERGY, "tokens": {"depth": 1, "heads": 3}}, world)


def test_the_papers_settings_of_the_guide_are_a_detector_and_its_recipes() -> None:
    page = (Path(__file__).parents[2] / "docs/detectors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    study = YAML(typ="safe").load(block)

    found = energy_detector(**study["detectors"]["energy"])
    recipes = {name: typed(f"recipes.{name}", BaseRecipe, options) for name, options in study["recipes"].items()}

    assert set(study["detectors"]["energy"]) == set(ENERGY)  # each option is given
    assert set(found.recipes) == set(recipes)
    assert not any(recipe.augment for recipe in recipes.values())
    assert sum(p.numel() for p in found.maps.build(3, 10).parameters()) == 11_173_962
    assert sum(p.numel() for p in found.tokens.build(192, 10).parameters()) == 5_340_682


# Mixed batches


def numbered(samples: int, first: int) -> Feed:
    numbers = torch.arange(first, first + samples)
    return Feed(samples, lambda at, _: (numbers[at], torch.zeros(len(at), dtype=torch.int64)))


@pytest.mark.parametrize("others", [3, 20, 200])
@pytest.mark.parametrize("batch", [4, 7, 16, 500])
def test_an_epoch_is_all_of_ones_own_beside_as_many_others(others: int, batch: int) -> None:
    mixed = Mixed(numbered(20, 0), numbered(others, 1000))

    batches = list(mixed.epoch(5, 0, batch))

    inputs, labels = (torch.cat([pair[part] for pair in batches]) for part in (0, 1))
    assert sorted(inputs[labels == 0].tolist()) == list(range(20))
    assert torch.equal(labels == -1, inputs >= 1000)
    assert all((y == -1).any() and (y == 0).any() for _, y in batches)
    assert all(len(y) <= batch for _, y in batches)
    again, later = ([x.tolist() for x, _ in mixed.epoch(5, epoch, batch)] for epoch in (0, 1))
    assert again == [x.tolist() for x, _ in batches] != later


def test_a_batch_too_small_for_two_sides_is_refused() -> None:
    with pytest.raises(ValueError, match="batch: is 3; it should be 4 or more, for two samples on each side"):
        next(Mixed(numbered(9, 0), numbered(9, 1000)).epoch(0, 0, 3))
    with pytest.raises(ValueError, match="others: has no samples; it should have at least one"):
        next(Mixed(numbered(9, 0), numbered(0, 1000)).epoch(0, 0, 4))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mahalanobis("pooled", 1.1, 1e-9), "shrinkage: is 1.1; it should be from 0 to 1"),
        (lambda: Mahalanobis("pooled", 0.0, 0.0), "cutoff: is 0; it should be above 0 and below 1"),
        (lambda: Nearest("pooled", 0, True), "k: is 0; it should be 1 or more"),
        (lambda: TailEnergy(0.0), "temperature: is 0; it should be above 0"),
        (lambda: Maps(0, (1,), 4), "size: is 0; it should be 1 or more"),
        (lambda: Maps(8, (), 4), r"blocks: is \[\]; it should name 1 or more blocks for each stage"),
        (lambda: Maps(8, (1,), 0), "width: is 0; it should be 1 or more"),
        (lambda: Tokens(0, 1), "depth: is 0; it should be 1 or more"),
        (lambda: Tokens(1, 0), "heads: is 0; it should be 1 or more"),
        (lambda: Flat(-1, 4), "depth: is -1; it should be 0 or more"),
        (lambda: Flat(1, 0), "width: is 0; it should be 1 or more"),
        (lambda: energy_detector(margin_inside=-5), "margin_inside: is -5; it should be -7 or less, margin_outside"),
        (lambda: energy_detector(weight=-1), "weight: is -1; it should be 0 or more"),
        (lambda: energy_detector(temperature=0), "temperature: is 0; it should be above 0"),
    ],
)
def test_options_out_of_range_are_refused(make: Any, words: str) -> None:
    with pytest.raises(Exception, match=words):
        make()
