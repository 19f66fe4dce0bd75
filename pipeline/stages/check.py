"""A study's params → everything that is wrong with them, before any work."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from pipeline import paths
from pipeline.arrays import Shape
from pipeline.augmentation import composed
from pipeline.controls import CONTROLS
from pipeline.controls.base import Control
from pipeline.datasets import DATASETS
from pipeline.datasets.base import Dataset
from pipeline.detectors import DETECTORS
from pipeline.detectors.base import Detector
from pipeline.errors import DataError, ParamsError, PipelineError, choices
from pipeline.figures import FIGURES
from pipeline.loading import problems
from pipeline.models import ARCHITECTURES
from pipeline.naming import kind_of
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.base import Objective
from pipeline.params import Params
from pipeline.ranks import RANKS
from pipeline.registry import Table, build, build_kind, lookup
from pipeline.similarity import INDICES
from pipeline.stages.claiming import unfounded
from pipeline.stitches import STITCHES
from pipeline.trials import TRIALS
from pipeline.trials.base import Trial

Size = tuple[int, int, int]
Cuts = tuple[tuple[str, Shape], ...]  # names and shapes
FAMILIES: dict[str, Table] = {
    "controls": CONTROLS,
    "stitches": STITCHES,
    "objectives": OBJECTIVES,
    "detectors": DETECTORS,
    "ranks": RANKS,
    "similarity": INDICES,
    "trials": TRIALS,
    "figures": FIGURES,
}


def check(params: Params) -> list[PipelineError]:
    """All that is wrong, a line each; the dear checks only where the cheap ones found nothing."""
    found = [*problems(params), *_variants(params), *_augmentations(params), *_references(params), *_detectors(params)]
    found += unfounded(params)
    return found or [*_device(params), *_files(params)] or list(_networks(params))


def _try(action: Callable[[], Any]) -> Iterator[PipelineError]:
    try:
        action()
    except PipelineError as error:
        yield error


def _variants(params: Params) -> Iterator[PipelineError]:
    for family, table in FAMILIES.items():
        for name, options in getattr(params, family).items():
            yield from _try(lambda f=family, t=table, n=name, o=options: build(f"{f}.{n}", t, n, o))
    for section, table in (("datasets", DATASETS), ("architectures", ARCHITECTURES)):
        for name, entry in getattr(params, section).items():
            yield from _try(lambda s=section, t=table, n=name, e=entry: build_kind(f"{s}.{n}", t, e))


def _references(params: Params) -> Iterator[PipelineError]:
    """Whether what figures refer to is defined, and is measured."""
    for name, options in params.figures.items():
        if kind_of(name) in FIGURES:
            for option, section in lookup(f"figures.{name}", FIGURES, kind_of(name)).refers.items():
                if options.get(option) not in getattr(params, section):
                    known = choices(str(options.get(option)), getattr(params, section))
                    where = f"figures.{name}.{option}: {options.get(option)}"
                    yield ParamsError(f"{where} is not defined in {section}; {known}")
        measure = options.get("measure")
        if measure is not None and measure not in (known := _measures(params)):
            yield ParamsError(f"figures.{name}.measure: {measure} is not measured; {choices(str(measure), known)}")
        if options.get("value") == "calibrated" and not params.comparison.permutations:
            yield ParamsError(f"figures.{name}.value: is calibrated; comparison.permutations is 0 and should be above")


def _measures(params: Params) -> list[str]:
    """Numbers of cells that a figure can show."""
    found = ["accuracy", "loss", "distance", *params.ranks, *(f"auroc_{name}" for name in params.detectors)]
    return [*found, "error"] if params.audit.errors else found


def _detectors(params: Params) -> Iterator[PipelineError]:
    """Whether those that are trained have recipes they can go by, and something that is out of distribution."""
    for name, options in params.detectors.items():
        try:
            detector: Detector = build(f"detectors.{name}", DETECTORS, name, options)
        except PipelineError:
            continue  # told already
        for recipe in detector.recipes:
            if recipe not in params.recipes:
                yield ParamsError(
                    f"detectors.{name}: {recipe} is not defined in recipes; {choices(recipe, params.recipes)}"
                )
            elif params.recipes[recipe].augment or params.recipes[recipe].batch < 4:
                yield ParamsError(f"detectors.{name}: recipes.{recipe} should augment nothing, in batches of 4 or more")
        if detector.auxiliary and params.detection.auxiliary == params.stitch.towards:
            yield ParamsError(
                f"detection.auxiliary: is {params.detection.auxiliary}, which {name} is to tell from what is out of "
                "distribution; it should be another dataset"
            )


def _augmentations(params: Params) -> Iterator[PipelineError]:
    for name, recipe in params.recipes.items():
        yield from _try(lambda n=name, r=recipe: composed(f"recipes.{n}.augment", r.augment))
    for name, options in params.objectives.items():
        recipe = params.recipes.get(str(options.get("recipe")))
        if recipe is not None and recipe.augment:
            where = f"objectives.{name}.recipe: {options['recipe']}"
            yield ParamsError(f"{where} augments images; a stitch sees none, so it should augment nothing")


def _device(params: Params) -> Iterator[PipelineError]:
    from pipeline.devices import choose

    yield from _try(lambda: choose(params.machine.device))


def _files(params: Params) -> Iterator[PipelineError]:
    from pipeline.weights import missing

    if not (Path(params.root) / "pipeline").is_dir():
        yield ParamsError(f"root: {params.root} leads to no folder pipeline; it should lead to the repository's top")
    root = paths.data_root(params.root, params.data.root)
    for name, entry in params.datasets.items():
        dataset: Dataset = build_kind(f"datasets.{name}", DATASETS, entry)
        prepared = (paths.dataset(name) / "meta.json").exists()  # pulled, it may be, without its raw files
        if not prepared and not (params.data.download and dataset.downloads()):
            yield from (DataError(f"datasets.{name}: {sentence}") for sentence in dataset.missing(root))
    for name, model in params.models.items():
        if all(paths.network(name, seed).exists() for seed in params.seeds):  # pulled, without the file they are from
            continue
        yield from (
            DataError(f"models.{name}.weights: {sentence}")
            for sentence in missing(model.weights, root, params.data.download)
        )


def _networks(params: Params) -> Iterator[PipelineError]:
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
                yield from _try(
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


def _classes(name: str, dataset: Dataset, root: Path) -> int:
    """How many the dataset has; of one that is prepared, it may be pulled, without its raw files."""
    meta = paths.dataset(name) / "meta.json"
    return len(json.loads(meta.read_text())["classes"] if meta.exists() else dataset.classes(root))


def _painters(params: Params, datasets: dict[str, Dataset]) -> Iterator[PipelineError]:
    """Whether those that make images learn from pixels that they can make."""
    for name, model in params.models.items():
        scale = datasets[model.dataset].normalisation()
        if _image(params, name) and (any(scale.mean) or set(scale.std) != {1}):
            yield ParamsError(
                f"models.{name}.dataset: {model.dataset} has a mean of {list(scale.mean)} and a deviation of "
                f"{list(scale.std)}; {name} paints from 0 to 1, so renormalise it to a mean of 0 and a deviation of 1"
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
