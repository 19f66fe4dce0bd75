"""Where each artefact lies; the only place where a directory is spelled.

All paths are relative to the study's folder, in which every command runs.
"""

import os
from collections.abc import Iterable
from pathlib import Path

PARAMS = Path("params.yaml")
PIPELINE = Path("dvc.yaml")  # the same in every study
CODE = Path("code")  # the study's own modules
COMPARISONS = Path("cache/comparisons")
SCRATCH = Path("cache/.scratch")  # unfinished work, keyed by content; never an output
LOG = Path("cache/.log")  # times and versions of runs; never an output
REPORTS = Path("reports")

DATASETS = Path("data/prepared")
PLANS = Path("cache/plans")
NETWORKS = Path("cache/networks")
ACTIVATIONS = Path("cache/activations")
CELLS = Path("cache/cells")
AUDITS = Path("cache/audits")
DISTANCES = Path("cache/distances")
CONTROLS = Path("cache/controls")
DETECTORS = Path("cache/detectors")
STITCHES = Path("cache/stitches")
TRIALS = Path("cache/trials")
UNSTITCHED = Path("cache/unstitched")


def data_root(root: str, setting: str) -> Path:
    """The folder of raw files: BACKSTITCH_DATA_ROOT, or `data.root` from the repository's top."""
    return Path(os.environ.get("BACKSTITCH_DATA_ROOT") or Path(root) / setting)


def code(stage: str) -> Path:
    """What the stage's code is, file by file."""
    return Path("cache/code") / f"{stage}.txt"


def index_code(name: str) -> Path:
    """The same of one index of similarity."""
    return Path("cache/code/similarity") / f"{name}.txt"


def dataset(name: str) -> Path:
    return DATASETS / name


def plan(model: str) -> Path:
    return PLANS / f"{model}.json"


def network(model: str, seed: int) -> Path:
    return NETWORKS / model / str(seed)


def activations(model: str, seed: int, dataset: str) -> Path:
    """One folder; in it a store for each mode of the network's BatchNorms that is wanted."""
    return ACTIVATIONS / model / str(seed) / dataset


def store(model: str, seed: int, dataset: str, norms: str = "eval") -> Path:
    return activations(model, seed, dataset) / norms


def statistics(model: str, seed: int, dataset: str) -> Path:
    """Of the network's BatchNorms, recalibrated on the dataset."""
    return Path("cache/statistics") / model / str(seed) / f"{dataset}.safetensors"


def stitches(sender: str, receiver: str, seed: int) -> Path:
    return STITCHES / sender / receiver / str(seed)


def cells(sender: str, receiver: str, seed: int) -> Path:
    return CELLS / sender / receiver / f"{seed}.csv"


def audit(sender: str, receiver: str, seed: int) -> Path:
    return AUDITS / sender / receiver / str(seed)


def distances(sender: str, receiver: str, seed: int) -> Path:
    return DISTANCES / sender / receiver / f"{seed}.csv"


def controls(receiver: str, seed: int) -> Path:
    return CONTROLS / receiver / str(seed)


def detectors(receiver: str, seed: int) -> Path:
    return DETECTORS / receiver / str(seed)


def unstitched(model: str, seed: int, dataset: str) -> Path:
    return UNSTITCHED / model / str(seed) / f"{dataset}.csv"


def comparison(index: str) -> Path:
    return COMPARISONS / f"{index}.csv"


def trial(name: str) -> Path:
    return TRIALS / f"{name}.csv"


def journal(stage: str, arguments: Iterable[object]) -> Path:
    return LOG / ("@".join([stage, "-".join(map(str, arguments))]).rstrip("@") + ".json")


def scratch(stage: str, key: str) -> Path:
    return SCRATCH / stage / key
