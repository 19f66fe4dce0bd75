"""The training loop: its rates, its order, and that a killed run ends in the same bytes."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from pipeline.errors import TrainingError
from pipeline.params import Recipe
from pipeline.training import Feed, fit, rate

RECIPE = Recipe("sgd", 0.01, 0.9, 0.0, "all", "constant", (), 0, 6, 8)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 1))


def feed(samples: int = 21) -> Feed:
    inputs = torch.linspace(-1, 1, 3 * samples).reshape(samples, 3)
    return Feed(samples, lambda at, _: (inputs[at], inputs[at].sum(1, keepdim=True)))


def trained(recipe: Recipe = RECIPE, seed: int = 1, checkpoint: Path | None = None, calls: int = 10**9) -> nn.Module:
    """The network after training, or after as many batches as `calls` allows."""
    model, left = network(), itertools.count()

    def loss(inputs: Tensor, wanted: Tensor) -> Tensor:
        if next(left) == calls:
            raise KeyboardInterrupt
        return mse_loss(model(inputs), wanted)

    fit(model, loss, feed(), recipe, seed, "a network", checkpoint)
    return model


def same(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_training_is_the_same_to_the_bit_when_repeated(optimiser: str) -> None:
    recipe = replace(RECIPE, optimiser=optimiser)

    assert same(trained(recipe), trained(recipe))
    assert not same(trained(recipe), trained(recipe, seed=2))


@pytest.mark.parametrize("calls", range(0, 18, 2))
def test_a_run_stopped_at_any_batch_ends_in_the_same_bytes(calls: int) -> None:
    whole = trained()

    with pytest.raises(KeyboardInterrupt):
        trained(checkpoint=Path("checkpoint.pt"), calls=calls)
    resumed = trained(checkpoint=Path("checkpoint.pt"))

    assert same(resumed, whole)


def test_a_finished_checkpoint_is_not_trained_further() -> None:
    first = trained(checkpoint=Path("checkpoint.pt"))

    assert same(trained(checkpoint=Path("checkpoint.pt"), calls=0), first)


def test_every_row_comes_once_an_epoch_in_an_order_of_its_own() -> None:
    def rows(epoch: int, seed: int = 0) -> list[int]:
        source = Feed(21, lambda at, _: (torch.from_numpy(at), torch.from_numpy(at)))
        return [int(row) for batch, _ in source.epoch(seed, epoch, 8) for row in batch]

    assert sorted(rows(0)) == list(range(21))
    assert rows(0) == rows(0)
    assert rows(0) != rows(1) != rows(1, seed=1)


def test_a_last_batch_of_one_is_left_out() -> None:
    sizes = [len(labels) for _, labels in feed(17).epoch(0, 0, 8)]

    assert sizes == [8, 8]


def test_sgd_is_the_textbook_formula() -> None:
    """By hand: v = 0.9 v + (g + wd w), w -= lr v, on the loss w²/2 summed."""
    weight, velocity, recipe = 2.0, 0.0, replace(RECIPE, weight_decay=0.5, epochs=3, batch=4)
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, weight)
    ones = Feed(4, lambda at, _: (torch.ones(len(at), 1), torch.zeros(len(at), 1)))

    fit(module, lambda x, y: ((module(x) - y) ** 2).mean() / 2, ones, recipe, 0, "w")

    for _ in range(3):
        velocity = 0.9 * velocity + weight + 0.5 * weight
        weight -= 0.01 * velocity
    assert module.weight.item() == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "time", "expected"),
    [
        ({}, 3.0, 0.01),
        ({"warmup_epochs": 4}, 1.0, 0.0025),
        ({"warmup_epochs": 4}, 5.0, 0.01),
        ({"schedule": "cosine"}, 0.0, 0.01),
        ({"schedule": "cosine"}, 3.0, 0.005),
        ({"schedule": "cosine"}, 6.0, 0.0),
        ({"schedule": "cosine", "warmup_epochs": 2}, 4.0, 0.005),
        ({"schedule": "step", "milestones": (2, 4)}, 2.0, 0.01),
        ({"schedule": "step", "milestones": (2, 4)}, 3.0, 0.001),
        ({"schedule": "step", "milestones": (2, 4)}, 6.0, 0.0001),
    ],
)
def test_rates_follow_their_schedule(changes: dict, time: float, expected: float) -> None:
    assert rate(replace(RECIPE, **changes), time) == pytest.approx(expected)


def test_a_loss_that_leaves_the_numbers_is_an_error() -> None:
    with pytest.raises(TrainingError, match=r"a network: the loss is (nan|inf) in epoch \d+; lower lr \(now 1e\+30\)"):
        trained(replace(RECIPE, lr=1e30))


def test_frozen_weights_stay_as_they_are() -> None:
    model = network()
    model[0].requires_grad_(False)
    before = model[0].state_dict()["weight"].clone()

    fit(model, lambda x, y: mse_loss(model(x), y), feed(), replace(RECIPE, weight_decay=0.1), 0, "half")

    assert torch.equal(model[0].state_dict()["weight"], before)


def test_progress_is_quiet_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    trained()

    assert capfd.readouterr() == ("", "")


def test_augmentation_draws_follow_the_seed() -> None:
    def drawn(epoch: int) -> list[float]:
        source = Feed(16, lambda at, random: (torch.from_numpy(random.random(len(at))), torch.from_numpy(at)))
        return [float(value) for batch, _ in source.epoch(3, epoch, 8) for value in batch]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
    assert np.unique(drawn(0)).size == 16


def test_vectors_are_spared_from_decay_where_the_recipe_says_so() -> None:
    """With no gradient at all, decay alone moves a weight."""
    moved = {}
    for decay in ("all", "matrices"):
        model = network()
        recipe = replace(RECIPE, decay=decay, weight_decay=0.1, momentum=0.0)
        fit(model, lambda x, y, m=model: 0 * mse_loss(m(x), y), feed(), recipe, 1, "a network")
        before, after = dict(network().named_parameters()), dict(model.named_parameters())
        moved[decay] = {name for name in before if not torch.equal(before[name], after[name])}

    assert moved["matrices"] == {"0.weight", "3.weight"}
    assert moved["all"] == {"0.weight", "0.bias", "1.weight", "3.weight", "3.bias"}  # 1.bias is zero
