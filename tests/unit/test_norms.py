"""BatchNorms of frozen networks: whose statistics they go by."""

import torch
from torch import nn

from pipeline.norms import expect, live, norms, recalibrated, statistics


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.5), nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
    ).eval()


def batches(sizes: tuple[int, ...] = (8, 8, 3)) -> list[torch.Tensor]:
    torch.manual_seed(2)
    return [torch.randn(size, 2, 4, 4) * 3 + 1 for size in sizes]


def test_the_first_norm_expects_the_mean_of_all_samples_and_not_of_batches() -> None:
    inputs, plain = batches(), network()

    found = recalibrated(plain, inputs)

    outputs = plain[:1](torch.cat(inputs)).transpose(0, 1).flatten(1)
    assert torch.allclose(statistics(found)["1.running_mean"], outputs.mean(1), atol=1e-6)
    assert statistics(plain)["1.running_mean"].eq(0).all()  # a copy was recalibrated


def test_later_norms_see_earlier_ones_normalised() -> None:
    """One batch of all samples: every statistic is exactly that of a pass in training mode."""
    (inputs,) = batches((19,))
    reference = network().train()
    reference[3].eval()
    for norm in norms(reference).values():
        norm.momentum = 1.0
    reference(inputs)

    found = recalibrated(network(), [inputs])

    for name, tensor in statistics(reference).items():
        assert torch.allclose(statistics(found)[name], tensor, atol=1e-6)
    assert found[1].momentum == 0.1
    assert not any(part.training for part in found.modules())


def test_a_network_without_norms_stays_as_it_is() -> None:
    plain = nn.Linear(3, 2)

    assert torch.equal(recalibrated(plain, iter([])).weight, plain.weight)
    assert statistics(plain) == {}


def test_statistics_go_where_they_came_from() -> None:
    source, target = recalibrated(network(), batches()), network()

    expect(target, statistics(source))

    assert all(torch.equal(a, b) for a, b in zip(source.buffers(), target.buffers(), strict=True) if a.ndim)


def test_only_what_is_asked_for_is_live() -> None:
    modes = {}
    for batch, dropout in ((False, False), (True, False), (False, True)):
        parts = live(network(), batch, dropout)
        modes[batch, dropout] = [type(part).__name__ for part in parts.modules() if part.training]

    assert modes == {
        (False, False): [],
        (True, False): ["BatchNorm2d", "BatchNorm2d"],
        (False, True): ["Dropout"],
    }
