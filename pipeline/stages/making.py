"""A cell → its stitch, trained and tested, and both left under the cell's key."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.nn.functional import cross_entropy

from pipeline import paths
from pipeline.arrays import PAINTED, Activations, Labels
from pipeline.atomic import replacing, write_json
from pipeline.devices import choose
from pipeline.folding import folded
from pipeline.moments import own_moments
from pipeline.networks import read_plan
from pipeline.norms import expect, live, statistics
from pipeline.objectives.base import Joint, Loss, Towards
from pipeline.prepared import SplitData, read_prepared
from pipeline.randomness import seed_for
from pipeline.reading import batches_of, tensor
from pipeline.stages.cells import Cell, painter, receiving, receiving_store
from pipeline.stages.online import Online, numbers_of, online_feed
from pipeline.stages.pairings import Pairings
from pipeline.stitches.base import Joining
from pipeline.training import Source as Batches
from pipeline.training import fit
from pipeline.weights import read, save_tensors, state

TEST_BATCH = 512


@dataclass(frozen=True)
class Parts:
    """A stitched network: the sender's front where it runs online, the stitch, the receiver's tail."""

    front: fx.GraphModule | None
    stitch: Joining
    tail: fx.GraphModule

    @cached_property
    def fast_tail(self) -> nn.Module:
        """The tail with the statistics it has when this is first asked for; equal up to rounding."""
        return folded(self.tail)

    def save(self, cell: Cell) -> None:
        """The stitch's weights, and what BatchNorms around it came to expect while it was trained."""
        tensors = state(self.stitch)
        for name, part, mode in self._moved(cell):
            tensors |= statistics(part, f"{name}.") if mode == "batch" else {}
        kept = {name: tensor.cpu().contiguous().clone() for name, tensor in tensors.items()}
        save_tensors(kept, cell.folder / cell.file)

    def load(self, cell: Cell, tensors: dict[str, Tensor]) -> None:
        self.stitch.load_state_dict({name: tensors[name] for name in state(self.stitch)})
        for name, part, mode in self._moved(cell):
            if mode == "batch":
                expect(part, tensors, f"{name}.")

    def _moved(self, cell: Cell) -> Iterator[tuple[str, nn.Module, str]]:
        if self.front is not None:
            yield "front", self.front, cell.options.sender_bn
        yield "tail", self.tail, cell.options.receiver_bn

    def given(self, cell: Cell, device: torch.device) -> Activations:
        """What the sender gives for the test split."""
        if self.front is None:
            return cell.source().rows("test", cell.sender_cut)
        images = read_prepared(paths.dataset(cell.data)).splits["test"]
        return Online(self.front.eval(), images, numbers_of(cell, "test"), device, cell.source().shape(cell.sender_cut))


def assembled(cell: Cell, device: torch.device) -> Parts:
    """With a fresh stitch, all else as it is before that is trained. Parts whose statistics will move are copies."""
    options = cell.options
    receiver = receiving(cell.receiver, cell.seed, cell.towards, options.receiver_bn)
    tail = receiver.tail(receiver.cut(cell.receiver_cut))
    front = None
    if cell.online() and not cell.built_objective().paired:
        sender = receiving(cell.sender, cell.seed, cell.data, "eval")
        front = _own(sender.front(sender.cut(cell.sender_cut))).to(device)
    if options.receiver_bn == "batch" or options.dropout:
        tail = _own(tail)
    return Parts(front, cell.stitch().to(device), tail.requires_grad_(False).to(device))


def loaded(cell: Cell, device: torch.device) -> Parts:
    """The stitched network as the stage left it."""
    parts = assembled(cell, device)
    parts.load(cell, read(cell.made))
    parts.stitch.eval()
    return parts


def _own(module: fx.GraphModule) -> fx.GraphModule:
    return copy.deepcopy(module).requires_grad_(False)


def make(group: Sequence[Cell]) -> None:
    """Makes those cells of the group that are not made; what one of them factors serves the others."""
    shared = Pairings(group)  # all of it: what is summed together moves the last digits of the sums
    for cell in group:
        if not done([cell]):
            _make(cell, shared)


def done(group: Sequence[Cell]) -> bool:
    return all((cell.folder / "scores.json").exists() for cell in group)


def _make(cell: Cell, shared: "Pairings") -> None:
    device = choose(cell.device)
    parts = assembled(cell, device)
    objective = cell.built_objective()
    parts.stitch.train()
    by_class = _by_class(cell) if objective.paints else []
    joint = Joint(
        tail=_trained_through(cell, parts) if objective.descends else parts.tail,
        moments=lambda samples: shared.moments(cell, parts.stitch, samples),
        inputs=lambda: own_moments(cell.source().rows("train", cell.sender_cut), parts.stitch.pairing),
        target=lambda samples: shared.target(cell, samples),
        descend=lambda module, loss, towards: _descend(cell, parts, module, loss, towards, device),
        weight_decay=cell.options.weight_decay,
        painter=_placed(painter(cell) if objective.paints else None, device),
        images=partial(_images, by_class, read_prepared(paths.dataset(cell.towards)).splits["train"], device),
        others=partial(_others, cell.target().rows("train", cell.receiver_cut), device),
    )
    objective.fit(parts.stitch, joint)
    parts.stitch.eval()
    parts.tail.eval()
    scores = test(parts, parts.given(cell, device), cell.source().labels("test"), device)
    scores["labelled"] = float(objective.labelled)
    parts.save(cell)
    _paint(cell, parts, device)
    write_json(cell.folder / "scores.json", scores)  # last: a cell with scores is done


def _placed(module: nn.Module | None, device: torch.device) -> nn.Module | None:
    return None if module is None else module.requires_grad_(False).to(device)


def _by_class(cell: Cell) -> list[np.ndarray]:
    """Numbers of the receiver's own training images, by class."""
    labels = receiving_store(cell).labels("train")
    return [np.flatnonzero(labels == label) for label in range(read_plan(cell.receiver).classes)]


def _images(by_class: list[np.ndarray], images: SplitData, device: torch.device, labels: Tensor) -> Tensor:
    """One at random for each of the labels; torch's global generator is the epoch's own."""
    drawn = torch.rand(len(labels)).tolist()
    numbers = [by_class[y][int(draw * len(by_class[y]))] for y, draw in zip(labels.tolist(), drawn, strict=True)]
    return images.batch(np.array(numbers), device)


def _others(rows: Activations, device: torch.device, count: int) -> Tensor:
    """Different ones, as many as there are at most."""
    numbers = torch.randperm(rows.shape[0])[:count].numpy()
    return tensor(rows.take(np.sort(numbers)), device)


@torch.inference_mode()
def _paint(cell: Cell, parts: Parts, device: torch.device) -> None:
    """What the stitched network makes of the first test images, as bytes, where it makes images."""
    paints = painter(cell)
    if paints is None:
        return
    rows = parts.given(cell, device)
    given = tensor(rows.read(0, min(PAINTED, rows.shape[0])), device)
    own = read_prepared(paths.dataset(cell.towards)).splits["test"]
    painted = paints.to(device)(parts.stitch(given)).cpu()
    pixels = painted * torch.tensor(own.std).view(-1, 1, 1) + torch.tensor(own.mean).view(-1, 1, 1)
    with replacing(cell.folder / cell.painting) as temporary, temporary.open("wb") as file:
        np.save(file, (pixels * 255).round().clamp(0, 255).to(torch.uint8).numpy())


def _trained_through(cell: Cell, parts: Parts) -> nn.Module:
    """The tail as gradients go through it: faster where it is a fixed function."""
    options = cell.options
    if options.receiver_bn == "batch" or options.dropout:
        return live(parts.tail, options.receiver_bn == "batch", options.dropout)
    return parts.fast_tail


def _descend(cell: Cell, parts: Parts, module: nn.Module, loss: Loss, towards: Towards, device: torch.device) -> None:
    seed = seed_for(cell.root_seed, "stitching", *cell.names())
    label = f"{cell.sender} {cell.sender_cut} {cell.objective}"
    fit(module, loss, _feed(cell, parts, towards, device), cell.options.recipe, seed, label)


def _feed(cell: Cell, parts: Parts, towards: Towards, device: torch.device) -> Batches:
    source = cell.source()
    if towards == "activations":
        wanted = cell.target().rows("train", cell.receiver_cut)
        return batches_of(source.rows("train", cell.sender_cut), wanted, cell.memory, device)
    if parts.front is None:
        return batches_of(source.rows("train", cell.sender_cut), source.labels("train"), cell.memory, device)
    return online_feed(cell, parts.front, source.labels("train"), device)


@torch.inference_mode()
def test(parts: Parts, rows: Activations, labels: Labels, device: torch.device) -> dict[str, float]:
    """Accuracy and mean cross-entropy of the stitched network, and how many images they rest on."""
    right, loss, samples = 0, 0.0, rows.shape[0]
    for start in range(0, samples, TEST_BATCH):
        stop = min(start + TEST_BATCH, samples)
        logits = parts.fast_tail(parts.stitch(tensor(rows.read(start, stop), device)))
        wanted = torch.from_numpy(labels[start:stop]).to(device)
        right += int((logits.argmax(1) == wanted).sum())
        loss += float(cross_entropy(logits, wanted, reduction="sum"))
    return {"accuracy": right / samples, "loss": loss / samples, "samples": samples}
