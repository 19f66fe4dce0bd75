"""A study's params → everything that is wrong with them, before any work."""

from collections.abc import Callable, Iterator
from typing import Any

from pipeline import paths
from pipeline.augmentation import composed
from pipeline.datasets import DATASETS
from pipeline.datasets.base import Dataset
from pipeline.errors import DataError, ParamsError, PipelineError
from pipeline.figures import FIGURES
from pipeline.models import ARCHITECTURES
from pipeline.objectives import OBJECTIVES
from pipeline.params import Params, problems
from pipeline.ranks import RANKS
from pipeline.registry import Table, build, build_kind
from pipeline.similarity import INDICES
from pipeline.stitches import STITCHES

FAMILIES: dict[str, Table] = {
    "stitches": STITCHES,
    "objectives": OBJECTIVES,
    "ranks": RANKS,
    "similarity": INDICES,
    "figures": FIGURES,
}


def check(params: Params) -> list[PipelineError]:
    """All that is wrong, a line each; the dear checks only where the cheap ones found nothing."""
    found = [*problems(params), *_variants(params), *_augmentations(params)]
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


def _augmentations(params: Params) -> Iterator[PipelineError]:
    for name, recipe in params.recipes.items():
        yield from _try(lambda n=name, r=recipe: composed(f"recipes.{n}.augment", r.augment))


def _device(params: Params) -> Iterator[PipelineError]:
    from pipeline.devices import choose

    yield from _try(lambda: choose(params.machine.device))


def _files(params: Params) -> Iterator[PipelineError]:
    from pipeline.weights import missing

    root = paths.data_root(params.root, params.data.root)
    for name, entry in params.datasets.items():
        dataset: Dataset = build_kind(f"datasets.{name}", DATASETS, entry)
        if not (params.data.download and dataset.downloads()):
            yield from (DataError(f"datasets.{name}: {sentence}") for sentence in dataset.missing(root))
    for name, model in params.models.items():
        yield from (
            DataError(f"models.{name}.weights: {sentence}")
            for sentence in missing(model.weights, root, params.data.download)
        )


def _networks(params: Params) -> Iterator[PipelineError]:
    """Each different architecture once, on each shape of input: does it build, trace, and have the cuts?"""
    seen: set[tuple[str, tuple[int, ...], int]] = set()
    root = paths.data_root(params.root, params.data.root)
    datasets: dict[str, Dataset] = {
        name: build_kind(f"datasets.{name}", DATASETS, entry) for name, entry in params.datasets.items()
    }
    for name, model in params.models.items():
        dataset = datasets[model.dataset]
        facts = (model.architecture, dataset.shape(), len(dataset.classes(root)))
        if facts not in seen:
            seen.add(facts)
            yield from _try(lambda n=name, f=facts: _cut(params, n, *f))


def _cut(params: Params, name: str, architecture: str, shape: tuple[int, int, int], classes: int) -> None:
    from pipeline.cutting import Cuttable
    from pipeline.weights import initialise

    variant = build_kind(f"architectures.{architecture}", ARCHITECTURES, params.architectures[architecture])
    try:
        Cuttable(initialise(variant, shape, classes, 0), shape).select("extract.cuts", params.extract.cuts)
    except PipelineError as error:
        raise ParamsError(f"{error} (in models.{name})") from error
