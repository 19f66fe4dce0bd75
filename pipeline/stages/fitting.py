"""A study's networks, built and traced → what does not fit: cuts, maps, objectives, controls, labels, trials."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from pipeline import paths
from pipeline.arrays import Shape
from pipeline.controls import CONTROLS
from pipeline.controls.base import Control
from pipeline.datasets import DATASETS
from pipeline.datasets.base import Dataset
from pipeline.errors import ParamsError, PipelineError
from pipeline.models import ARCHITECTURES
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Objective
from pipeline.params import Params
from pipeline.registry import build, build_kind
from pipeline.stages.claiming import uncut
from pipeline.stitches import STITCHES
from pipeline.trials import TRIALS
from pipeline.trials.base import Trial

Size = tuple[int, int, int]
Cuts = tuple[tuple[str, Shape], ...]  # names and shapes


def caught(action: Callable[[], Any]) -> Iterator[PipelineError]:
    """The error that the action raises, where it raises one of ours."""
    try:
        action()
    except PipelineError as error:
        yield error


def misfits(params: Params) -> Iterator[PipelineError]:
    """Each different network, built for its own data, once on each shape it meets: does it trace, and have the cuts?"""
    root = paths.data_root(params.root, params.data.root)
    datasets: dict[str, Dataset] = {
        name: build_kind(f"datasets.{name}", DATASETS, entry) for name, entry in params.datasets.items()
    }
    told = {name: _classes(name, dataset, root) for name, dataset in datasets.items()}
    counts = {name: told[model.dataset] for name, model in params.models.items()}
    sizes = {name: dataset.shape() for name, dataset in datasets.items()}
    found: dict[tuple[str, Size, Size, int], Cuts] = {}
    strange: list[dict[str, str]] = []
    for name, model in params.models.items():
        classes = counts[name]
        for data in (model.dataset, *params.extract.datasets):
            facts = (model.architecture, sizes[model.dataset], sizes[data], classes)
            if facts not in found:
                found[facts] = ()
                yield from caught(
                    lambda n=f"models.{name} on {data}", f=facts: found.update({f: _cuts(params, strange, n, *f)})
                )
    if all(found.values()):
        lost = [pattern for pattern in strange[0] if all(pattern in other for other in strange)]
        yield from (ParamsError(strange[0][pattern]) for pattern in lost)
        given, taken = (
            {n: found[m.architecture, sizes[m.dataset], sizes[data], counts[n]] for n, m in params.models.items()}
            for data in (params.stitch.data, params.stitch.towards)
        )
        yield from _joints(params, given, taken, sizes[params.stitch.towards])
        yield from _painters(params, datasets)
        yield from _pairs(params)
        yield from _controls(params, counts)
        yield from _labels(params, counts, told[params.stitch.data])
        yield from _trials(params, given)
        yield from uncut(params, {cut for cuts in given.values() for cut, _ in cuts})


def _classes(name: str, dataset: Dataset, root: Path) -> int:
    """How many the dataset has; of one that is prepared, it may be pulled, without its raw files."""
    meta = paths.dataset(name) / "meta.json"
    return len(json.loads(meta.read_text())["classes"] if meta.exists() else dataset.classes(root))


def _painters(params: Params, datasets: dict[str, Dataset]) -> Iterator[PipelineError]:
    """Whether those that make images are held against images that they can make."""
    for name, model in params.models.items():
        wanted = {model.dataset, params.stitch.towards} if name in params.receivers else {model.dataset}
        for data in sorted(wanted) if _image(params, name) else ():
            scale = datasets[data].normalisation()
            if any(scale.mean) or set(scale.std) != {1}:
                yield ParamsError(
                    f"datasets.{data}: has a mean of {list(scale.mean)} and a deviation of {list(scale.std)}; "
                    f"{name} paints from 0 to 1, so renormalise it to a mean of 0 and a deviation of 1"
                )


def _image(params: Params, model: str) -> str:
    """The cut at which the model has made an image, where it makes one."""
    architecture = params.models[model].architecture
    return build_kind(f"architectures.{architecture}", ARCHITECTURES, params.architectures[architecture]).image


def _controls(params: Params, told_apart: dict[str, int]) -> Iterator[PipelineError]:
    if params.stitch.pairs == "input":  # where none is stitched
        return
    for (name, options), receiver in product(params.controls.items(), params.receivers):
        control = build(f"controls.{name}", CONTROLS, name, options)
        count = told_apart[receiver]
        if isinstance(control, Control) and control.wanted > count:
            yield ParamsError(f"controls.{name}: has {control.wanted} classes and {receiver} tells {count} apart")


def _labels(params: Params, told_apart: dict[str, int], there: int) -> Iterator[PipelineError]:
    """Whether each receiver can answer with the labels that the stitch's samples are given."""
    labels = params.stitch.labels
    used = labels.classes or there
    if used > there:
        yield ParamsError(f"stitch.labels.classes: is {used}; {params.stitch.data} has {there} classes")
        return
    for receiver in params.receivers:
        count = told_apart[receiver]
        if used > count:
            where = f"stitch.data: {params.stitch.data} has {used} classes and {receiver} tells {count} apart"
            yield ParamsError(f"{where}; set stitch.labels.classes to {count} or fewer")
        if labels.permutation is not None and len(labels.permutation) != count:
            length = len(labels.permutation)
            yield ParamsError(f"stitch.labels.permutation: names {length} classes; {receiver} tells {count} apart")


def _trials(params: Params, given: dict[str, Cuts]) -> Iterator[PipelineError]:
    """Whether the study has the networks and cuts that each trial compares."""
    from pipeline.stages.designing import design
    from pipeline.stitches.places import features

    there = design(params, {name: {cut: features(shape) for cut, shape in cuts} for name, cuts in given.items()})
    for name, options in params.trials.items():
        trial: Trial = build(f"trials.{name}", TRIALS, name, options)
        yield from map(ParamsError, trial.lacks(there))


def _cuts(
    params: Params, strange: list[dict[str, str]], where: str, architecture: str, own: Size, shape: Size, classes: int
) -> Cuts:
    from pipeline.cutting import Cuttable
    from pipeline.weights import initialise

    variant = build_kind(f"architectures.{architecture}", ARCHITECTURES, params.architectures[architecture])
    try:
        model = Cuttable(initialise(variant, own, classes, 0), shape)
        cuts = model.select("extract.cuts", params.extract.cuts)
    except PipelineError as error:
        raise ParamsError(f"{error} ({where})") from error
    except (RuntimeError, MemoryError) as error:  # as torch tells that there is not so much memory
        reason = str(error).strip().splitlines()[0] if str(error) else type(error).__name__
        raise ParamsError(
            f"architectures.{architecture}: cannot be built ({where}): {reason}; use a smaller one"
        ) from error
    unknown = model.strange("extract.cuts", params.extract.cuts)
    strange.append({pattern: f"{sentence} ({where})" for pattern, sentence in unknown.items()})
    return tuple((cut.name, cut.shape) for cut in cuts)


def _joints(params: Params, given: dict[str, Cuts], taken: dict[str, Cuts], size: Size) -> Iterator[PipelineError]:
    """Whether the map can join what each sender gives to what each receiver takes."""
    from pipeline.stages.joints import problem
    from pipeline.stitches.base import Stitch

    variant: Stitch = build(
        f"stitches.{params.stitch.map}", STITCHES, params.stitch.map, params.stitches[params.stitch.map]
    )
    objectives: dict[str, Objective] = {
        name: build(f"objectives.{name}", OBJECTIVES, name, options) for name, options in params.objectives.items()
    }
    memory = int(params.machine.memory_gb * 1e9 / params.machine.slots)
    for sender, receiver in product(params.senders, params.receivers):
        into: Cuts = (("input", size),) if params.stitch.pairs == "input" else taken[receiver]
        pairs = [(a, b) for a, b in product(given[sender], into) if a[0] == b[0] or params.stitch.pairs != "matching"]
        if not pairs:
            yield ParamsError(f"stitch.pairs: {sender} and {receiver} have no cut of one name; use all")
        for (source, shape), (target, wanted) in pairs:
            pair = f"{sender}/{source} to {receiver}/{target}"
            try:
                stitch = variant.build(shape, wanted)
            except ValueError as error:
                yield ParamsError(f"stitch.map: {pair}: {error}; choose other cuts or another map")
                continue
            for name, objective in objectives.items():
                if wrong := problem(objective, stitch, memory):
                    yield ParamsError(f"objectives.{name}: {pair}: {wrong}")


def _pairs(params: Params) -> Iterator[PipelineError]:
    """Whether each objective has beside the sender's activations what it needs."""
    for name, options in params.objectives.items():
        objective: Objective = build(f"objectives.{name}", OBJECTIVES, name, options)
        if objective.paired and params.stitch.data != params.stitch.towards:
            yield ParamsError(
                f"objectives.{name}: needs the receiver's activations on the sender's samples; "
                f"set stitch.towards to {params.stitch.data}, or leave it out"
            )
        if objective.paints and params.stitch.pairs != "input":
            for receiver in params.receivers:
                if not _image(params, receiver):
                    yield ParamsError(f"objectives.{name}: {receiver} makes no image; it should be an autoencoder")
