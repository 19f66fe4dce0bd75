"""A model → its legal cuts, as lines of a table."""

import re
from collections.abc import Iterable, Iterator

from pipeline import paths
from pipeline.datasets import DATASETS
from pipeline.errors import ParamsError, choices
from pipeline.loading import load_params
from pipeline.models import ARCHITECTURES
from pipeline.registry import build_kind

SAMPLES = 1000  # that the column of bytes is for
IMAGENET = "3x224x224"


def table(model: str, shape: str) -> Iterator[str]:
    """One line a cut: name, shape, bytes of `SAMPLES` samples in float32, and other names."""
    from pipeline.cutting import Cuttable
    from pipeline.weights import initialise

    architecture, size, classes = _find(model, shape)
    cuts = Cuttable(initialise(architecture, size, classes, 0), size).cuts
    wide = max(len(cut.name) for cut in cuts)
    yield f"{'cut':{wide}}  {'shape':>14}  {f'MB / {SAMPLES:,}':>11}  also"
    for cut in cuts:
        megabytes = cut.size * 4 * SAMPLES / 1e6
        shape_text = "x".join(map(str, cut.shape))
        yield f"{cut.name:{wide}}  {shape_text:>14}  {megabytes:>11,.2f}  {' '.join(cut.aliases)}".rstrip()


def _find(model: str, shape: str) -> tuple:
    """The architecture, its input's shape and the number of classes."""
    if not paths.PARAMS.exists():
        return _torchvision(model, shape, {})
    params = load_params(paths.PARAMS)
    if model not in params.models:
        return _torchvision(model, shape, params.models)
    entry = params.models[model]
    where = f"architectures.{entry.architecture}"
    dataset = build_kind(f"datasets.{entry.dataset}", DATASETS, params.datasets[entry.dataset])
    classes = len(dataset.classes(paths.data_root(params.root, params.data.root)))
    architecture = build_kind(where, ARCHITECTURES, params.architectures[entry.architecture])
    return architecture, _parsed(shape) if shape else dataset.shape(), classes


def _torchvision(model: str, shape: str, known: Iterable[str]) -> tuple:
    size = _parsed(shape or IMAGENET)
    try:
        options = {"kind": "torchvision_model", "name": model, "options": {}}
        return build_kind("cuts", ARCHITECTURES, options), size, 1000
    except ParamsError as error:
        raise ParamsError(f"cuts: {model} is no model of params.yaml; {choices(model, known)}; or: {error}") from error


def _parsed(shape: str) -> tuple[int, int, int]:
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", shape):
        raise ParamsError(f"--input: {shape} is not a shape; write it as 3x28x28")
    channels, height, width = map(int, shape.split("x"))
    return channels, height, width
