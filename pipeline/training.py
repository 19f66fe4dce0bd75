"""The one training loop: networks and stitches alike.

Batches and dropout are functions of the seed and the epoch alone, and the state is saved after every
epoch, so a run that was killed goes on to the same bytes as one that was not.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.atomic import replacing
from pipeline.errors import TrainingError
from pipeline.params import Recipe
from pipeline.progress import progress
from pipeline.randomness import generator, seed_for, seeded
from pipeline.system import keep_memory

Batch = tuple[Tensor, Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]
Fetch = Callable[[np.ndarray, np.random.Generator], Batch]  # rows wanted → inputs and labels


@runtime_checkable
class Source(Protocol):
    """Where batches come from."""

    @property
    def samples(self) -> int: ...

    def epoch(self, seed: int, epoch: int, batch: int) -> Iterator[Batch]:
        """All rows once, in an order that follows from the seed and the epoch."""
        ...


@dataclass(frozen=True)
class Feed:
    """`samples` rows, of which `fetch` brings those asked for."""

    samples: int
    fetch: Fetch

    def epoch(self, seed: int, epoch: int, batch: int) -> Iterator[Batch]:
        random = generator(seed, "order", epoch)
        order = random.permutation(self.samples)
        for start in range(0, self.samples, batch):
            rows = order[start : start + batch]
            if len(rows) > 1 or self.samples == 1:  # BatchNorm has no variance over one sample
                yield self.fetch(rows, random)


def fit(
    module: nn.Module, loss: Loss, feed: Source, recipe: Recipe, seed: int, what: str, checkpoint: Path | None = None
) -> list[dict[str, int | float]]:
    """Trains `module`'s unfrozen weights in place; the mean loss of every epoch.

    `loss` may run more than `module`, a frozen tail for one. With a `checkpoint`, an earlier run's state is
    taken up from there.
    """
    keep_memory()
    optimiser = _optimiser(_groups([p for p in module.parameters() if p.requires_grad], recipe), recipe)
    curve = _resume(checkpoint, module, optimiser)
    steps = math.ceil(feed.samples / recipe.batch)
    for epoch in range(len(curve), recipe.epochs):
        with seeded(seed_for(seed, "epoch", epoch)):
            batches = progress(
                feed.epoch(seed, epoch, recipe.batch), steps, f"{what} {epoch + 1}/{recipe.epochs}", "batches"
            )
            mean = _epoch(loss, batches, optimiser, recipe, epoch, steps)
        if not math.isfinite(mean):
            raise TrainingError(f"{what}: the loss is {mean} in epoch {epoch + 1}; lower lr (now {recipe.lr:g})")
        curve.append({"epoch": epoch + 1, "rate": rate(recipe, float(epoch + 1)), "loss": mean})
        _save(checkpoint, module, optimiser, curve)
    return curve


def _epoch(
    loss: Loss, batches: Iterator[Batch], optimiser: torch.optim.Optimizer, recipe: Recipe, epoch: int, steps: int
) -> float:
    losses: list[Tensor] = []  # left on the device, so that no step waits for another
    count = 0
    for step, (inputs, labels) in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = rate(recipe, epoch + (step + 1) / steps)
        value = loss(inputs, labels)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        losses.append(value.detach() * len(labels))
        count += len(labels)
    return float(torch.stack(losses).cpu().double().sum()) / count


def rate(recipe: Recipe, time: float) -> float:
    """The learning rate at `time`, in epochs: a linear warm-up, then the schedule over what is left."""
    if time < recipe.warmup_epochs:
        return recipe.lr * time / recipe.warmup_epochs
    if recipe.schedule == "cosine" and recipe.epochs > recipe.warmup_epochs:
        part = (time - recipe.warmup_epochs) / (recipe.epochs - recipe.warmup_epochs)
        return recipe.lr * (1 + math.cos(math.pi * part)) / 2
    if recipe.schedule == "step":
        return recipe.lr * 0.1 ** sum(time > milestone for milestone in recipe.milestones)
    return recipe.lr


def _groups(parameters: list[nn.Parameter], recipe: Recipe) -> list[dict[str, Any]]:
    """Parameters by whether they decay."""
    spared = [p for p in parameters if recipe.decay == "matrices" and p.ndim < 2]
    decaying = [p for p in parameters if recipe.decay == "all" or p.ndim >= 2]
    groups = [{"params": decaying}, {"params": spared, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def _optimiser(parameters: list[dict[str, Any]], recipe: Recipe) -> torch.optim.Optimizer:
    if recipe.optimiser == "adam":
        return torch.optim.Adam(parameters, recipe.lr, weight_decay=recipe.weight_decay)
    return torch.optim.SGD(parameters, recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay)


def _resume(
    checkpoint: Path | None, module: nn.Module, optimiser: torch.optim.Optimizer
) -> list[dict[str, int | float]]:
    if checkpoint is None or not checkpoint.exists():
        return []
    state: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True)
    module.load_state_dict(state["module"])
    optimiser.load_state_dict(state["optimiser"])
    return state["curve"]


def _save(
    checkpoint: Path | None, module: nn.Module, optimiser: torch.optim.Optimizer, curve: list[dict[str, int | float]]
) -> None:
    if checkpoint is not None:
        state = {"module": module.state_dict(), "optimiser": optimiser.state_dict(), "curve": curve}
        with replacing(checkpoint) as temporary:
            torch.save(state, temporary)
