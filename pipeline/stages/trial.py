"""What indices say of all layers → how far each can be believed, a table a trial."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple
from itertools import product
from pathlib import Path

from pandas import DataFrame

from pipeline import paths
from pipeline.atomic import appear, write_text
from pipeline.params import Params
from pipeline.registry import build
from pipeline.stages.gathering import gathering
from pipeline.tables import TRIAL
from pipeline.tidying import tidy
from pipeline.trials import TRIALS
from pipeline.trials.base import Trial


def run(params: Params) -> None:
    folder = gathering("trial")
    for name, rows in findings(params) if params.trials else ():
        write_text(folder / f"{name}.csv", rows.to_csv(index=False))
    appear(folder, paths.TRIALS)
    tidy_inputs(params)


def findings(params: Params) -> Iterator[tuple[str, DataFrame]]:
    """A table of each trial."""
    from pipeline.stages.trying import material  # a study without trials need not wait for torch

    given = material(params)
    for name, options in params.trials.items():
        trial: Trial = build(f"trials.{name}", TRIALS, name, options)
        rows = [[name, params.stitch.data, *astuple(finding)] for finding in trial.run(given)]
        yield name, DataFrame(rows, columns=TRIAL)


def tidy_inputs(params: Params) -> list[Path]:
    """Deletes results of variants no longer in params from the folders that this stage depends on."""
    networks = product(params.models, params.seeds, params.extract.datasets)
    wanted: dict[Path, Iterable[Path]] = {
        paths.ACTIVATIONS: (paths.activations(*each) for each in networks),
        paths.CELLS: (paths.cells(*pair) for pair in product(params.senders, params.receivers, params.seeds)),
        paths.DISTANCES: (paths.distances(*pair) for pair in product(params.senders, params.receivers, params.seeds)),
        paths.NETWORKS: (paths.network(*each) for each in product(params.models, params.seeds)),
        paths.PLANS: map(paths.plan, params.models),
        paths.COMPARISONS: map(paths.comparison, params.similarity),
    }
    return [path for folder, expected in wanted.items() for path in tidy(folder, expected)]
