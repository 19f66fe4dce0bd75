"""A model's names → one file with all they stand for.

DVC cannot look a model's dataset up while it multiplies models with seeds, so this stage does: training
depends on the plan, and the plan on the dataset. It also digests the architecture's own code, so that a new
architecture beside it retrains nothing.
"""

import json
from dataclasses import asdict
from pathlib import Path

from pipeline import paths
from pipeline.atomic import file_digest, write_json
from pipeline.errors import DataError
from pipeline.imports import closure, code_digest
from pipeline.models import ARCHITECTURES
from pipeline.params import Params

UNFILED = ("trained", "random")


def run(params: Params, name: str) -> None:
    model = params.models[name]
    architecture = params.architectures[model.architecture]
    meta = json.loads((paths.dataset(model.dataset) / "meta.json").read_text())
    plan = {
        "model": name,
        "architecture": architecture,
        "code": _code(architecture),
        "dataset": model.dataset,
        "data": meta["digest"],
        "shape": meta["shape"],
        "classes": len(meta["classes"]),
        "recipe": asdict(params.recipes[model.recipe]),
        "weights": model.weights,
        "weights_file": _weights_file(params, model.weights),
    }
    write_json(paths.plan(name), plan)


def _code(architecture: dict) -> str:
    files = closure(ARCHITECTURES[architecture["kind"]].partition(":")[0])
    own = paths.CODE.rglob("*.py") if "function" in architecture else []
    return code_digest([*files, *own])


def _weights_file(params: Params, weights: str) -> str | None:
    if weights in UNFILED or "_Weights." in weights:
        return None
    path = paths.data_root(params.root, params.data.root) / weights
    if Path(weights).is_absolute() or ".." in Path(weights).parts:
        raise DataError(f"models: {weights} lies outside of data.root; put the weights below it")
    if not path.is_file():
        raise DataError(f"{path}: no such file; put the weights there, or use trained or random")
    return file_digest(path)
