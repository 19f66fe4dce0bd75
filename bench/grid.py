"""A whole grid of cells, by the stage itself, against a loop in the manner of the papers.

The loop holds all images in memory and both networks whole, hooks them at their cuts, and makes one cell after
another: for `task` it trains the stitch through both networks, for `direct` it solves one least-squares problem a
pair, with NumPy, on activations that it has extracted. Recipe, order of samples and initial weights are the same.
The stage works in as many processes as there are processors, each with one thread; the loop is one process with
all of them, and with glibc as loops have it.
"""

import contextlib
import itertools
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import pandas
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from bench.ratios import Row, seconds, timed
from bench.sizes import Sizes
from pipeline import paths, training
from pipeline.arrays import Shape
from pipeline.datasets import DATASETS
from pipeline.datasets.base import Labelled, Normalisation, SameClasses, Split
from pipeline.datasets.options import Limit, limited
from pipeline.folding import folded
from pipeline.loading import typed_params
from pipeline.networks import read_network
from pipeline.objectives.base import Joint
from pipeline.params import Params
from pipeline.prepared import SplitData, read_prepared
from pipeline.randomness import seed_for
from pipeline.registry import build_kind
from pipeline.stages import cells as stage_cells
from pipeline.stages import dataset, extract, plan, stitch, train
from pipeline.stages.cells import Cell
from pipeline.stages.grid import cells, groups
from pipeline.stages.making import TEST_BATCH
from pipeline.stages.pairings import Pairings
from pipeline.stitches.base import Joining
from pipeline.system import keep_memory
from pipeline.training import Feed, fit

CPU = torch.device("cpu")
MODELS = ("a", "b", "c", "d", "e")
FIVE = ("relu", "layer?.1")

Result = TypeVar("Result")


def rows(sizes: Sizes) -> Iterator[Row]:
    """Each network's accuracy decides nothing here, so they are trained briefly."""
    yield from _of_one(sizes, "task", sizes.grid, 5.0)
    yield from _of_one(sizes, "direct", sizes.few, 20.0)  # of more, the loop's rows do not fit into memory
    with _folder("senders"):
        several = study(sizes, sizes.few)
        prepare(several)
        yield from _senders(several)
    yield from _memory(sizes)


def _of_one(sizes: Sizes, objective: str, samples: int, mark: float) -> Iterator[Row]:
    one = study(sizes, samples)
    one = replace(one, models={"a": one.models["a"]}, senders=["a"])
    with _folder(objective):
        prepare(one, sizes.tested)
        yield from _grid(one, objective, mark)


def study(sizes: Sizes, samples: int) -> Params:
    """Five networks of one architecture on images of patterns."""
    recipe = {
        "optimiser": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.0001, "decay": "all", "schedule": "cosine",
        "milestones": [], "warmup_epochs": 0, "epochs": 1, "batch": sizes.step_batch,
    }  # fmt: skip
    model = {"architecture": "net", "dataset": "images", "recipe": "brief", "weights": "trained"}
    return typed_params({
        "root": ".", "study": {"title": "bench", "question": ""}, "seed": 0, "seeds": [0],
        "machine": {"device": "cpu", "memory_gb": 8, "threads": 1, "slots": os.cpu_count() or 1},
        "data": {"root": ".", "download": False},
        "datasets": {
            "images": {"kind": "synthetic", "categories": 10, "samples": samples, "size": sizes.image}
        },
        "architectures": {
            "net": {"kind": "small_resnet", "blocks": list(sizes.blocks), "width": sizes.width, "stem": "cifar"}
        },
        "recipes": {"brief": {**recipe, "augment": []}},
        "models": dict.fromkeys(MODELS, model),
        "extract": {
            "datasets": ["images"], "cuts": ["layer?.?"], "layout": "raw", "dtype": "float32", "batch": sizes.batch
        },
        "senders": list(MODELS), "receivers": ["a"],
        "stitch": {
            **recipe, "data": "images", "towards": "images", "map": "conv1x1", "pairs": "all",
            "sender_bn": "eval", "receiver_bn": "eval",
            "dropout": False, "labels": {"classes": None, "offset": 0, "permutation": None},
        },
        "stitches": {"conv1x1": {"places": "bilinear"}},
        "objectives": {
            "task": {"start": "random", "l1": 0, "offset": 0, "recipe": None},
            "direct": {"cutoff": 1e-6, "samples": None, "source_rank": None, "target_rank": None},
        },
        "controls": {}, "detectors": {}, "detection": {"auxiliary": "images", "confidence": 0.95, "resamples": 100},
        "audit": {"ranks_at_cut": False, "errors": False}, "ranks": {"numerical": {"threshold": 0.001}},
        "similarity": {"linear_cka": {"estimator": "biased", "of": "flattened"}},
        "trials": {}, "comparison": {"permutations": 0, "groups": 0},
        "verdict": {"confidence": 0.95, "margin": 0.02, "auroc": 0.75, "rank_ratio": 1.5},
        "figures": {"accuracy_by_cut": {"width": 7}}, "published": None, "claims": [],
    })  # fmt: skip


@dataclass(frozen=True)
class Tested(SameClasses):
    """The images, fewer of them to test."""

    count: int | None

    def load(self, root: Path, split: Split, seed: int) -> Labelled:
        return limited("images", self.source.load(root, split, seed), split, Limit(None, self.count))

    def normalisation(self) -> Normalisation:
        return self.source.normalisation()

    def shape(self) -> tuple[int, int, int]:
        return self.source.shape()


def prepare(params: Params, tested: int | None = None) -> None:
    images = Tested(build_kind("datasets.images", DATASETS, params.datasets["images"]), tested)
    dataset.prepare("images", images, Path(), params.seed, paths.scratch("dataset", "images"), paths.dataset("images"))
    for name in params.models:
        plan.run(params, name)
        train.run(params, name, 0)
        extract.run(params, name, 0, "images")


def _grid(params: Params, objective: str, mark: float) -> Iterator[Row]:
    """All cells by the stage; by the loop one of each pair of shapes, whose seconds count for all of these shapes."""
    alone = replace(params, objectives={objective: params.objectives[objective]})
    tasks = cells(alone, "a", "a", 0)
    ours = timed(lambda: stitched(alone, ["a"]))
    found = pandas.read_csv(paths.cells("a", "a", 0)).query("measure == 'accuracy'")["value"].tolist()
    chosen = one_of_each(tasks)
    few, share = [tasks[number] for number in chosen], len(tasks) / len(chosen)
    loop = elsewhere(task_loop if objective == "task" else direct_loop, few)
    apart = max(abs(found[number] - other) for number, other in zip(chosen, loop.accuracies, strict=True))
    looped, solving = share * loop.seconds, share * loop.solving
    name = f"{len(tasks)} cells by {objective}, {len(read_prepared(paths.dataset('images')).splits['train'])} images"
    whole = f"{name}, made and tested, accuracies at most {100 * apart:.2g} points apart"
    of = f"loop {seconds(looped)}, of {len(few)} cells"
    if objective == "task":
        yield single("grid", whole, ours, looped, of, mark)
        floor = share * elsewhere(tails_alone, few)
        yield single("grid", f"{name}, against its tails' passes alone", ours, floor, f"tails {seconds(floor)}", None)
    else:
        yield single("grid", whole, ours, looped, of, None)
        spent = elsewhere(solved, tasks)
        yield single("grid", f"{name}, solved", spent, solving, f"solves {seconds(solving)}, of {len(few)}", mark)


def one_of_each(tasks: Sequence[Cell]) -> list[int]:
    """Of the cells of each pair of shapes one. Every stage has as many blocks, so all pairs are as frequent.

    Into a stage's blocks in turn, since the first has the longer tail: so all cuts are as frequent, too.
    """
    alike: dict[tuple[Shape, ...], list[int]] = {}
    for number, cell in enumerate(tasks):
        alike.setdefault(tuple(cell.source().shape(cut) for cut in (cell.sender_cut, cell.receiver_cut)), []).append(
            number
        )
    senders = list(dict.fromkeys(source for source, _ in alike))
    return [numbers[senders.index(source) % len(numbers)] for (source, _), numbers in alike.items()]


def stitched(params: Params, senders: Sequence[str]) -> None:
    """The stage, for each sender, as the command runs it: threads are counted where torch is first imported."""
    with patch.dict(os.environ, OMP_NUM_THREADS=str(params.machine.threads)):
        for sender in senders:
            stitch.run(params, sender, "a", 0)


@contextlib.contextmanager
def _folder(name: str) -> Iterator[None]:
    """A folder of its own; what was read in another is forgotten."""
    Path(name).mkdir()
    stage_cells.forget()
    with contextlib.chdir(name):
        yield


def _senders(params: Params) -> Iterator[Row]:
    """Five senders into one receiver, each cut into its namesake."""
    few = replace(params, objectives={"task": params.objectives["task"]}, seed=1)
    few = replace(few, stitch=replace(few.stitch, pairs="matching"))
    for name in few.models:
        extract.run(replace(few, extract=replace(few.extract, cuts=FIVE)), name, 0, "images")
    stage_cells.forget()
    ours = timed(lambda: stitched(few, few.senders))
    tasks = list(itertools.chain(*(cells(few, sender, "a", 0) for sender in few.senders)))
    theirs = elsewhere(task_loop, tasks).seconds
    name = f"5 senders into one receiver, {len(tasks)} cells by task"
    yield single("grid", name, ours, theirs, f"senders online {seconds(theirs)}", None)


def _memory(sizes: Sizes) -> Iterator[Row]:
    """Peak memory of stitching out of core, of a split and of one that is four times as long."""
    peaks = []
    for factor in (1, 4):
        with_limit = study(sizes, factor * sizes.few)
        with_limit = replace(
            with_limit, models=dict(itertools.islice(with_limit.models.items(), 1)),
            objectives={"task": with_limit.objectives["task"]},  # of so little memory closed forms are refused
            stitch=replace(with_limit.stitch, pairs="matching"),
            machine=replace(with_limit.machine, memory_gb=0.001, slots=1),  # in the process that is measured
        )  # fmt: skip
        peaks.append(peak_of(with_limit, factor))
    name = f"peak memory at {sizes.few} samples and at four times as many, out of core"
    ratio = peaks[0] / peaks[1]
    yield Row("grid", name, f"{peaks[1]:.3g} GB", f"{peaks[0]:.3g} GB", 0, ratio, (ratio, ratio), 0.8)


def peak_of(params: Params, factor: int) -> float:
    """Gigabytes that a process of its own held at most while it stitched; extraction is done before, elsewhere."""
    with _folder(f"memory-{factor}"):
        elsewhere(_prepared, params)
        return elsewhere(_peak, params)


def elsewhere(function: Callable[..., Result], *given: Any) -> Result:
    """What it returns in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def _prepared(params: Params) -> None:
    prepare(replace(params, machine=replace(params.machine, memory_gb=8)))


def _peak(params: Params) -> float:
    stitch.run(params, "a", "a", 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


@dataclass
class Loop:
    """What a loop found, and its seconds: all of them, and those of its solutions alone."""

    accuracies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    solving: float = 0.0


def task_loop(tasks: list[Cell]) -> Loop:
    """The cells, each trained and tested with both networks running whole."""
    data = read_prepared(paths.dataset("images")).splits
    held = {split: inputs(part) for split, part in data.items()}
    networks = {
        name: read_network(name, 0, CPU) for name in {name for cell in tasks for name in (cell.sender, cell.receiver)}
    }
    loop, start = Loop(), time.perf_counter()
    with patch.object(training, "keep_memory"):
        for cell in tasks:
            loop.accuracies.append(_hooked_cell(cell, networks[cell.sender], networks[cell.receiver], held, data))
    loop.seconds = time.perf_counter() - start
    return loop


def inputs(part: SplitData) -> Tensor:
    return part.batch(slice(None), CPU)


def _hooked_cell(
    cell: Cell, sender: nn.Module, receiver: nn.Module, held: dict[str, Tensor], data: dict[str, SplitData]
) -> float:
    stitch_ = cell.stitch().train()
    labels = torch.from_numpy(data["train"].labels)
    feed = Feed(len(labels), lambda at, _: (held["train"][at], labels[at]))
    seed = seed_for(cell.root_seed, "stitching", *cell.names())
    other = receiver if receiver is not sender else read_network(cell.receiver, 0, CPU)
    answer = hooked(sender, other, cell.sender_cut, cell.receiver_cut, stitch_)
    fit(stitch_, lambda x, y: cross_entropy(answer(x), y), feed, cell.options.recipe, seed, "loop")
    return tested(hooked(sender, other, cell.sender_cut, cell.receiver_cut, stitch_.eval()), held["test"], data["test"])


def hooked(
    sender: nn.Module, receiver: nn.Module, source: str, target: str, stitch_: nn.Module
) -> Callable[[Tensor], Tensor]:
    """Images → the receiver's answer to the stitched activations of the sender."""

    def answer(images: Tensor) -> Tensor:
        caught: list[Tensor] = []
        catch = sender.get_submodule(source).register_forward_hook(lambda *call: caught.append(call[-1]))
        put = receiver.get_submodule(target).register_forward_hook(lambda *_: stitch_(caught[0]))
        with catch, put:
            sender(images)
            return receiver(images)

    return answer


@torch.inference_mode()
def tested(answer: Callable[[Tensor], Tensor], images: Tensor, data: SplitData) -> float:
    right = 0
    for start in range(0, len(data), TEST_BATCH):
        logits = answer(images[start : start + TEST_BATCH])
        right += int((logits.argmax(1).numpy() == data.labels[start : start + TEST_BATCH]).sum())
    return right / len(data)


def direct_loop(tasks: list[Cell]) -> Loop:
    """A solution of its own for every pair, places as rows, the source resized to the target."""
    data, network = read_prepared(paths.dataset("images")).splits, read_network("a", 0, CPU)
    sender, images = tasks[0].source(), inputs(data["test"])
    loop, start = Loop(), time.perf_counter()
    for cell in tasks:
        begun = time.perf_counter()
        x = torch.from_numpy(np.array(sender.rows("train", cell.sender_cut).read(0, len(data["train"]))))
        y = np.array(sender.rows("train", cell.receiver_cut).read(0, len(data["train"])))
        if x.shape[2:] != y.shape[2:]:
            x = interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=False)
        flat_x, flat_y = (np.moveaxis(z, 1, -1).reshape(-1, z.shape[1]).astype(np.float64) for z in (x.numpy(), y))
        solution = np.linalg.lstsq(np.column_stack([flat_x, np.ones(len(flat_x))]), flat_y)[0]
        loop.solving += time.perf_counter() - begun
        stitch_ = cell.stitch()
        put(stitch_, solution)
        other = read_network("a", 0, CPU)
        answer = hooked(network, other, cell.sender_cut, cell.receiver_cut, stitch_.eval())
        loop.accuracies.append(tested(answer, images, data["test"]))
    loop.seconds = time.perf_counter() - start
    return loop


def solved(tasks: list[Cell]) -> float:
    """Seconds of the stage's solutions alone, in one process with all processors, like the loop's."""
    start = time.perf_counter()
    for group in groups(tasks):
        shared = Pairings(group)
        for cell in group:
            stitch_ = cell.stitch()
            joint = Joint(
                tail=stitch_, moments=partial(shared.moments, cell, stitch_), inputs=_never,
                target=partial(shared.target, cell), descend=_never, weight_decay=0.0, painter=None, images=_never,
                others=_never,
            )  # fmt: skip
            cell.built_objective().fit(stitch_, joint)
    return time.perf_counter() - start


def _never(*_: object) -> Any:
    raise AssertionError("a closed form has no use for it")


def put(stitch_: Joining, solution: np.ndarray) -> None:
    found = {"core.weight": torch.from_numpy(solution[:-1].T), "core.bias": torch.from_numpy(solution[-1])}
    stitch_.load_state_dict(found, strict=False)


def tails_alone(tasks: list[Cell]) -> float:
    """Seconds of the passes that no way of training and testing through the tails can do without."""
    keep_memory()
    start = time.perf_counter()
    for cell in tasks:
        model = stage_cells.receiving(cell.receiver, 0, "images", "eval")
        tail = folded(model.tail(model.cut(cell.receiver_cut)))
        shape = model.cut(cell.receiver_cut).shape
        for given in _empty(cell.source().rows("train", cell.sender_cut).shape[0], cell.options.batch, shape):
            tail(given.requires_grad_()).sum().backward()
        with torch.inference_mode():
            for given in _empty(cell.source().rows("test", cell.sender_cut).shape[0], TEST_BATCH, shape):
                tail(given)
    return time.perf_counter() - start


def _empty(count: int, batch: int, shape: Shape) -> Iterator[Tensor]:
    return (torch.zeros(min(batch, count - first), *shape) for first in range(0, count, batch))


def single(part: str, name: str, ours: float, theirs: float, against: str, mark: float | None) -> Row:
    """Of one run each: these take minutes, in which a machine's moods even out."""
    return Row(part, name, seconds(ours), against, 0, theirs / ours, (theirs / ours, theirs / ours), mark)
