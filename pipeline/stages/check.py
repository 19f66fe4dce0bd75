"""A study's params → everything that is wrong with them, before any work."""

from collections.abc import Iterator
from pathlib import Path

from pipeline import paths
from pipeline.augmentation import composed
from pipeline.controls import CONTROLS
from pipeline.controls.base import Baseline, Control
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
from pipeline.params import Params
from pipeline.ranks import RANKS
from pipeline.registry import Table, build, build_kind, lookup
from pipeline.similarity import INDICES
from pipeline.stages.claiming import unfounded
from pipeline.stages.fitting import caught, misfits
from pipeline.stitches import STITCHES
from pipeline.trials import TRIALS

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
    found += [*_baselines(params), *unfounded(params)]
    return found or [*_device(params), *_files(params)] or list(misfits(params))


def _variants(params: Params) -> Iterator[PipelineError]:
    for family, table in FAMILIES.items():
        for name, options in getattr(params, family).items():
            yield from caught(lambda f=family, t=table, n=name, o=options: build(f"{f}.{n}", t, n, o))
    for section, table in (("datasets", DATASETS), ("architectures", ARCHITECTURES)):
        for name, entry in getattr(params, section).items():
            yield from caught(lambda s=section, t=table, n=name, e=entry: build_kind(f"{s}.{n}", t, e))


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
        yield from _recipes(params, f"detectors.{name}", detector.recipes, batch=4)
        if detector.auxiliary and params.detection.auxiliary == params.stitch.towards:
            yield ParamsError(
                f"detection.auxiliary: is {params.detection.auxiliary}, which {name} is to tell from what is out of "
                "distribution; it should be another dataset"
            )


def _baselines(params: Params) -> Iterator[PipelineError]:
    """Whether those controls that are trained have recipes they can go by."""
    for name, options in params.controls.items():
        try:
            control: Control | Baseline = build(f"controls.{name}", CONTROLS, name, options)
        except PipelineError:
            continue  # told already
        if isinstance(control, Baseline):
            yield from _recipes(params, f"controls.{name}", control.recipes)


def _recipes(params: Params, where: str, recipes: tuple[str, ...], batch: int = 0) -> Iterator[PipelineError]:
    """Whether these are defined, and go for activations."""
    for recipe in recipes:
        if recipe not in params.recipes:
            yield ParamsError(f"{where}: {recipe} is not defined in recipes; {choices(recipe, params.recipes)}")
        elif params.recipes[recipe].augment or params.recipes[recipe].batch < batch:
            size = f", in batches of {batch} or more" if batch else ""
            yield ParamsError(f"{where}: recipes.{recipe} should augment nothing{size}")


def _augmentations(params: Params) -> Iterator[PipelineError]:
    for name, recipe in params.recipes.items():
        yield from caught(lambda n=name, r=recipe: composed(f"recipes.{n}.augment", r.augment))
    for name, options in params.objectives.items():
        recipe = params.recipes.get(str(options.get("recipe")))
        if recipe is not None and recipe.augment:
            where = f"objectives.{name}.recipe: {options['recipe']}"
            yield ParamsError(f"{where} augments images; a stitch sees none, so it should augment nothing")


def _device(params: Params) -> Iterator[PipelineError]:
    from pipeline.devices import choose

    yield from caught(lambda: choose(params.machine.device))


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
