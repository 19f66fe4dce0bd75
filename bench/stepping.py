"""One step of task-loss matching: from the cache through the tail, against hooks in both whole networks."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bench.memory import give_memory_back
from bench.networks import CLASSES, resnet18, stored
from bench.ratios import Contender, Row, nothing, ratio_row, side_by_side
from bench.sizes import Sizes
from pipeline.arrays import Activations, Shape
from pipeline.cutting import Cut, Cuttable
from pipeline.folding import folded
from pipeline.randomness import seeded
from pipeline.reading import tensor
from pipeline.stitches.conv1x1 import Conv1x1
from pipeline.system import keep_memory

CPU = torch.device("cpu")
KEPT = "hooked, memory kept"
MARKS = {"layer1.0": 2.0, "layer1.1": None, "layer2.1": None, "layer3.1": None, "layer4.1": 20.0}


def rows(sizes: Sizes) -> Iterator[Row]:
    """At blocks from the earliest to the last, a ResNet-18 into another of its kind."""
    with seeded(1):
        inputs = torch.randn(sizes.step_batch, 3, sizes.image, sizes.image)
        wanted = torch.randint(CLASSES, (sizes.step_batch,))
    sender, receiver = resnet18(sizes.width, sizes.image), resnet18(sizes.width, sizes.image)
    traced = Cuttable(resnet18(sizes.width, sizes.image), (3, sizes.image, sizes.image))
    give_memory_back()
    for name, mark in MARKS.items():
        yield from _at(traced, traced.cut(name), sender, receiver, (inputs, wanted), min(3, sizes.repetitions), mark)


def _at(
    traced: Cuttable, cut: Cut, sender: nn.Module, receiver: nn.Module, batch: tuple[Tensor, Tensor], repetitions: int,
    mark: float | None,
) -> Iterator[Row]:  # fmt: skip
    inputs, wanted = batch
    with torch.no_grad():
        activations = traced.front(cut)(inputs).numpy()
    cached = stored(Path("stepping") / cut.name, {cut.name: activations}, "raw").rows("test", cut.name)
    tail = folded(traced.tail(cut))  # as the stage trains through it
    steps = {
        "cached": step(cut.shape, wanted, partial(through_tail, tail, cached)),
        "hooked": step(cut.shape, wanted, partial(through_hooks, sender, receiver, cut.name, inputs)),
    }
    assert np.isclose(steps["cached"](), steps["hooked"](), rtol=1e-4), "the two are not the same step"
    kept = {name: Contender(lambda run=run: (keep_memory(), run()), give_memory_back) for name, run in steps.items()}
    contenders = {"cached": kept["cached"], "hooked": Contender(steps["hooked"], nothing), KEPT: kept["hooked"]}
    times = side_by_side(contenders, repetitions)
    name = f"a step at {cut.name}"
    yield ratio_row("stepping", name, times, "cached", ["hooked"], activations.nbytes, mark)
    if mark is not None:
        yield ratio_row("stepping", f"{name}, memory kept by both", times, "cached", [KEPT], activations.nbytes, None)


def step(shape: Shape, wanted: Tensor, answer: Callable[[nn.Module], Tensor]) -> Callable[[], float]:
    """Forward, backward and the optimiser's move of a fresh stitch; returns the loss before it."""
    with seeded(2):
        stitch = Conv1x1("keep").build(shape, shape)
    optimiser = torch.optim.Adam(stitch.parameters(), 0.001)

    def run() -> float:
        loss = cross_entropy(answer(stitch), wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return float(loss.detach())

    return run


def through_tail(tail: nn.Module, cached: Activations, stitch: nn.Module) -> Tensor:
    return tail(stitch(tensor(cached.take(np.arange(cached.shape[0])), CPU)))


def through_hooks(sender: nn.Module, receiver: nn.Module, layer: str, inputs: Tensor, stitch: nn.Module) -> Tensor:
    """The receiver's answer with the stitched activations of the sender put in at `layer`, both run whole."""
    caught: list[Tensor] = []
    catch = sender.get_submodule(layer).register_forward_hook(lambda *call: caught.append(call[-1]))
    put = receiver.get_submodule(layer).register_forward_hook(lambda *_: stitch(caught[0]))
    with catch, put:
        with torch.no_grad():
            sender(inputs)
        return receiver(inputs)
