"""params.yaml → `Params`: the one place that reads it, and refuses names that nothing defines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pipeline import paths
from pipeline.errors import ParamsError, choices
from pipeline.params import Params
from pipeline.registry import typed


def load_params(path: Path) -> Params:
    """The study that `path` describes, with every name in it defined."""
    params = typed_params(read_yaml(path))
    for problem in problems(params):
        raise problem
    return params


def typed_params(document: object) -> Params:
    try:
        return typed("params.yaml", Params, document)
    except ParamsError as error:  # the file's name says nothing that a key's place does not
        lines = [line.removeprefix("params.yaml.") for line in str(error).splitlines()]
        raise ParamsError("\n".join(lines)) from error


def read_yaml(path: Path) -> object:
    """The document in `path`, read with DVC's own parser: PyYAML takes 1e-3 for a text."""
    try:
        return YAML(typ="safe").load(path)
    except FileNotFoundError as error:
        raise ParamsError(f"{path}: no such file; run this in a study's folder") from error
    except OSError as error:
        raise ParamsError(f"{path}: cannot be read: {error.strerror}; it should be a readable file") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ParamsError(f"{path}: is not YAML at line {line}: {error.problem}; mend that line") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: is not YAML: {' '.join(str(error).split())}; it should be UTF-8 text") from error


def problems(params: Params) -> Iterator[ParamsError]:
    """What is wrong with the names in `params`, unsafe, or used but not defined; or with the stages beside them."""
    if not _same_stages(Path(params.root) / paths.PIPELINE):
        yield ParamsError(f"{paths.PIPELINE}: is no copy of the one at the repository's top; copy that one over it")
    for section in ("datasets", "architectures", "recipes", "models"):
        for name in getattr(params, section):
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
                yield ParamsError(f"{section}.{name}: is not a safe name; use letters, digits, _ and -")
    for name, model in params.models.items():
        yield from _undefined(f"models.{name}.architecture", model.architecture, params.architectures)
        yield from _undefined(f"models.{name}.dataset", model.dataset, params.datasets)
        yield from _undefined(f"models.{name}.recipe", model.recipe, params.recipes)
    for where, names, known in (
        ("extract.datasets", params.extract.datasets, params.datasets),
        ("senders", params.senders, params.models),
        ("receivers", params.receivers, params.models),
        ("stitch.data", [params.stitch.data], params.extract.datasets),
        ("stitch.towards", [params.stitch.towards], params.extract.datasets),
        ("stitch.map", [params.stitch.map], params.stitches),
        ("detection.auxiliary", [params.detection.auxiliary], params.extract.datasets),
    ):
        for name in names:
            yield from _undefined(where, name, known)
    for name, options in params.objectives.items():
        if options.get("recipe") is not None:
            yield from _undefined(f"objectives.{name}.recipe", str(options["recipe"]), params.recipes)
    for seed in params.seeds:
        if seed < 0:
            yield ParamsError(f"seeds: names {seed}; a seed should be 0 or more")
    for name in params.models:
        if name in params.controls:
            yield ParamsError(f"models.{name}: is also the name of a control; use another")
    yield from _confused("models", product(params.models, params.seeds, params.extract.datasets))
    yield from _confused("senders", product(params.senders, params.receivers, params.seeds))
    for where in ("seeds", "senders", "receivers", "extract.datasets"):
        yield from _repeated(where, params)
    for where in ("objectives", "ranks", "similarity", "figures"):
        if not getattr(params, where):
            yield ParamsError(f"{where}: is empty; it should name at least one")


def _same_stages(top: Path) -> bool:
    """Whether this folder's stages are those at the top; no link, which DVC does not follow in earlier revisions."""
    here = paths.PIPELINE
    if not here.exists() or not top.exists():
        return True
    return not here.is_symlink() and here.read_bytes() == top.read_bytes()


def _undefined(where: str, name: str, known: Iterable[str] | Mapping[str, object]) -> Iterator[ParamsError]:
    if name not in known:
        yield ParamsError(f"{where}: {name} is not defined; {choices(name, known)}")


def _confused(where: str, stages: Iterable[tuple[object, ...]]) -> Iterator[ParamsError]:
    """DVC joins the names of a stage by `-`: a and b-c are to it what a-b and c are."""
    names = Counter("-".join(map(str, names)) for names in set(stages))
    for name in (name for name, count in names.items() if count > 1):
        yield ParamsError(f"{where}: several would make the stage {name}; use names without -")


def _repeated(where: str, params: Params) -> Iterator[ParamsError]:
    names = params.extract.datasets if where == "extract.datasets" else getattr(params, where)
    if not names:
        yield ParamsError(f"{where}: is empty; it should name at least one")
    for name in {name for name in names if names.count(name) > 1}:
        yield ParamsError(f"{where}: names {name} twice; name it once")
