"""What a report rests on: versions, digests, and what each stage took where it was run."""

import json
from itertools import product
from pathlib import Path

from pandas import DataFrame

from pipeline import paths
from pipeline.atomic import file_digest
from pipeline.figures.tables import chosen, where
from pipeline.params import Params

STAGES = ("dataset", "plan", "train", "extract", "stitch", "detect", "control", "audit", "compare", "trial")


def stage_table(journal: DataFrame, params: Params) -> DataFrame:
    """One row a stage: runs, seconds and bytes of this study's results made on this machine.

    A stage with 0 runs here had its results pulled from a remote or from DVC's cache.
    """
    named = _of_study(journal, params)
    rows = []
    for stage in STAGES:
        runs = where(named, stage=stage)
        rows.append((stage, len(runs), float(sum(runs["seconds"])), int(sum(runs["bytes"]))))
    return DataFrame(rows, columns=["stage", "runs", "seconds", "bytes"])


def version_table(journal: DataFrame, params: Params) -> DataFrame:
    """One row a package: every version that a result of this machine was made with."""
    found: dict[str, list[str]] = {}
    for versions in _of_study(journal, params)["versions"]:
        for package, version in versions.items():
            found.setdefault(package, []).append(version)
    rows = [(package, ", ".join(sorted(set(versions)))) for package, versions in found.items()]
    return DataFrame(rows, columns=["package", "versions"])


def digest_table(params: Params) -> DataFrame:
    """One row a dataset, by what it says of itself, and a network, by its file of weights."""
    rows = [(f"dataset {name}", _digest_of(paths.dataset(name))) for name in params.datasets]
    for name, seed in product(params.models, params.seeds):
        rows.append((f"weights of {name}, seed {seed}", file_digest(paths.network(name, seed) / "weights.safetensors")))
    return DataFrame(rows, columns=["of", "digest"])


def _of_study(journal: DataFrame, params: Params) -> DataFrame:
    """Entries whose every argument is a name in params; the others are of variants since removed."""
    known = {*params.datasets, *params.models, *params.similarity, *map(str, params.seeds)}
    return chosen(journal, [known.issuperset(arguments) for arguments in journal["arguments"]])


def _digest_of(dataset: Path) -> str:
    return json.loads((dataset / "meta.json").read_text(encoding="utf-8"))["digest"]
