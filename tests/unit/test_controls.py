"""Controls: noise that is the same whenever it is read, and probes held against oracles."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from torch import nn

from pipeline import probing
from pipeline.arrays import Activations, Labels, Sender, Shape
from pipeline.controls.base import Loss, Material, Setting
from pipeline.controls.noise import Noise
from pipeline.controls.probe import Probe
from pipeline.controls.random import Random
from pipeline.controls.self import Self
from pipeline.controls.whole_probe import WholeProbe
from pipeline.errors import TrainingError
from pipeline.params import Recipe
from pipeline.randomness import generator, seeded
from pipeline.training import Feed, fit
from tests.property.test_similarity import Held

RANDOM = np.random.default_rng(5)


class Receiver:
    """50 training and 20 test samples at two cuts."""

    digest = "a receiver"
    cuts = ("conv", "fc")

    def shape(self, cut: str) -> Shape:
        return {"conv": (3, 4, 4), "fc": (7,)}[cut]

    def labels(self, split: str) -> Labels:
        return np.zeros({"train": 50, "test": 20}[split], np.int64)

    def rows(self, split: str, cut: str) -> Activations:
        return Held(np.zeros((len(self.labels(split)), *self.shape(cut)), np.float32))


def setting(seed: int = 0, classes: int = 10) -> Setting:
    return Setting(Receiver(), lambda: pytest.fail("a network was run"), classes, seed)


def noise(radius: float = 0.1, classes: int | None = None, seed: int = 0) -> Sender:
    return Noise(radius, classes).sender(setting(seed))


@given(
    order=st.permutations(range(50)),
    start=st.integers(0, 49),
    stop=st.integers(0, 50),
    cut=st.sampled_from(["conv", "fc"]),
)
def test_a_row_of_noise_depends_on_its_number_alone(order: list[int], start: int, stop: int, cut: str) -> None:
    rows = noise().rows("train", cut)
    whole = rows.read(0, 50)

    assert whole.shape == rows.shape == (50, *Receiver().shape(cut))
    assert np.array_equal(rows.take(np.array(order)), whole[order])
    assert np.array_equal(rows.read(start, max(start, stop)), whole[start : max(start, stop)])


def test_noise_lies_around_a_centre_for_each_class_and_within_bounds() -> None:
    sender = noise(radius=0.01)
    rows, labels = sender.rows("train", "conv").read(0, 50), sender.labels("train")
    tests = sender.rows("test", "conv").read(0, 20)

    assert sorted(set(labels)) == list(range(10))
    assert rows.min() >= 0
    assert rows.max() <= 1
    for label in range(10):
        centre = rows[labels == label].mean(0)
        assert np.abs(rows[labels == label] - centre).max() < 0.06
        assert np.abs(tests[sender.labels("test") == label] - centre).max() < 0.06  # test noise, the same centres
    assert np.std(rows[:10], axis=0).mean() > 0.15  # centres differ, at every place
    assert not np.array_equal(rows[:20], tests)


def test_noise_of_no_radius_is_its_centres_and_of_a_great_one_at_the_bounds() -> None:
    still, wild = (noise(radius=radius).rows("train", "fc").read(0, 50) for radius in (0.0, 1e4))

    assert np.array_equal(still[0], still[10])
    assert np.isin(wild, (0, 1)).all()


def test_noise_may_have_fewer_classes_and_another_seed_is_other_noise() -> None:
    assert set(noise(classes=2).labels("train")) == {0, 1}
    assert not np.array_equal(noise(seed=1).rows("train", "fc").read(0, 5), noise().rows("train", "fc").read(0, 5))
    assert noise(seed=1).digest != noise().digest != noise(radius=0.2).digest


def test_the_receiver_is_its_own_sender_and_only_random_runs_a_network() -> None:
    given_ = setting()

    assert Self().sender(given_) is given_.receiver
    with pytest.raises(BaseException, match="a network was run"):
        Random().sender(given_)


Descend = Callable[[nn.Module, Loss, str], None]


def material(parts: dict[str, tuple[np.ndarray, np.ndarray]], descend: Descend | None = None) -> Material:
    def accuracy(module: nn.Module) -> float:
        rows, labels = parts["test"]
        with torch.inference_mode():
            return float((module(torch.from_numpy(rows)).argmax(1).numpy() == labels).mean())

    return Material(
        lambda split: Held(parts[split][0]), lambda split: parts[split][1], torch.device("cpu"), 3,
        descend or (lambda *_: pytest.fail("something was trained")), accuracy,
    )  # fmt: skip


@pytest.mark.parametrize(("samples", "features"), [(200, 5), (60, 90)])
def test_a_probe_is_scikit_learns_logistic_regression(samples: int, features: int) -> None:
    """Also with more features than samples, and a dead one."""
    centres = RANDOM.standard_normal((4, features)) * 0.7
    labels = RANDOM.integers(0, 4, 2 * samples)
    rows = centres[labels] + RANDOM.standard_normal((2 * samples, features))
    rows[:, 0] = 3.0
    train, test = (rows[:samples], labels[:samples]), (rows[samples:], labels[samples:])
    mean, deviation = train[0].mean(0), train[0].std(0)
    deviation[0] = 1
    oracle = LogisticRegression(C=1 / (0.05 * samples), tol=1e-8, max_iter=5000)
    oracle.fit((train[0] - mean) / deviation, train[1])

    found = Probe(0.05).accuracy(material({"train": train, "test": test}))

    assert found == pytest.approx(oracle.score((test[0] - mean) / deviation, test[1]), abs=1.01 / samples)


def test_a_probe_of_all_numbers_is_softmax_regression_by_the_recipe_that_it_names() -> None:
    """Against gradients in closed form and steps with momentum, by hand in float64, over the same batches."""
    recipe = Recipe("sgd", 0.05, 0.9, 0.01, "all", "constant", (), 0, 4, 16)
    centres = RANDOM.standard_normal((3, 2, 2, 2))
    labels = RANDOM.integers(0, 3, 90)
    rows = (centres[labels] + RANDOM.standard_normal((90, 2, 2, 2))).astype(np.float32)
    named, modules = list[str](), list[nn.Module]()

    def descend(module: nn.Module, loss: Loss, name: str) -> None:
        named.append(name)
        modules.append(module)
        answers = torch.from_numpy(labels[:60])
        feed = Feed(60, lambda at, _: (torch.from_numpy(rows[at]), answers[at]))
        fit(module, loss, feed, recipe, 3, "probe")

    parts = {"train": (rows[:60], labels[:60]), "test": (rows[60:], labels[60:])}
    found = WholeProbe("gentle").accuracy(material(parts, descend))

    with seeded(3):
        fresh = nn.Linear(8, 3)
    weight = np.c_[fresh.weight.detach().numpy(), fresh.bias.detach().numpy()].astype(np.float64)
    inputs, speed = np.c_[rows.reshape(90, 8), np.ones(90)].astype(np.float64), np.zeros((3, 9))
    for epoch in range(4):
        order = generator(3, "order", epoch).permutation(60)
        for at in np.split(order, range(16, 60, 16)):
            odds = np.exp(inputs[at] @ weight.T)
            slope = (odds / odds.sum(1, keepdims=True) - np.eye(3)[labels[at]]).T @ inputs[at] / len(at) + 0.01 * weight
            speed = 0.9 * speed + slope
            weight -= 0.05 * speed
    layer = modules[0].get_submodule("1")
    assert named == ["gentle"]
    np.testing.assert_allclose(layer.get_parameter("weight").detach(), weight[:, :8], atol=1e-5)
    np.testing.assert_allclose(layer.get_parameter("bias").detach(), weight[:, 8], atol=1e-5)
    assert found == ((inputs[60:] @ weight.T).argmax(1) == labels[60:]).mean()
    assert 1 > found > 0.5


def test_a_probe_that_does_not_get_to_its_minimum_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_STEPS", 2)
    rows, labels = RANDOM.standard_normal((60, 30)), RANDOM.integers(0, 3, 60)

    with pytest.raises(TrainingError, match=r"probe: its slope is .* after 2 steps; a larger decay gets it"):
        Probe(0.001).accuracy(material({"train": (rows, labels), "test": (rows, labels)}))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Noise(-1.0, None), "radius: is -1; it should be 0 or more"),
        (lambda: Noise(0.1, 1), "classes: is 1; it should be 2 or more, or null for the receiver's"),
        (lambda: Probe(0.0), "decay: is 0; it should be above 0"),
    ],
)
def test_options_out_of_range_are_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # pyright: ignore[reportCallIssue]
