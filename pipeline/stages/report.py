"""Rows to figures, tables, few numbers, and one page."""

import json
import shutil
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from pandas import DataFrame

from pipeline import page, paths
from pipeline.believing import belief_table
from pipeline.claims import claims_table, tally
from pipeline.claims import held as held_claims
from pipeline.departures import departures
from pipeline.evidence import read_evidence
from pipeline.figures import FIGURES
from pipeline.figures.base import Evidence, Figure
from pipeline.figures.style import rendered
from pipeline.page import Contents, Picture, picture
from pipeline.params import Params
from pipeline.published import BESIDE, PROTOCOL, beside, protocol, protocol_table, published_table
from pipeline.registry import build
from pipeline.showing import (
    shown_cells,
    shown_controls,
    shown_detectors,
    shown_networks,
    shown_provenance,
    shown_verdicts,
    tallied_verdicts,
)
from pipeline.similarities import LAYERS, over_seeds
from pipeline.summary import accuracy_plot, finding, metrics
from pipeline.tables import TRIAL
from pipeline.tidying import tidy
from pipeline.verdicts import comparisons, verdicts
from pipeline.wide import cell_table, control_table, network_table, wide

_UNFINISHED = ".unfinished"
_MOST = 600  # rows of verdicts that a page shows; with more it would be too large to open


def run(params: Params) -> None:
    evidence = read_evidence(params)
    figures = {name: build(f"figures.{name}", FIGURES, name, options) for name, options in params.figures.items()}
    put(paths.REPORTS, report(params, evidence, figures))
    tidy_inputs(params)


def report(params: Params, evidence: Evidence, figures: dict[str, Figure]) -> dict[str, bytes]:
    """Every file of the report, by its place in the folder."""
    own = {name: model.dataset for name, model in params.models.items()}
    cells = cell_table(evidence, own)
    held = comparisons(cells, params.verdict)
    departed = departures(cells, params.ranks, params.detectors, params.verdict)
    judged = verdicts(held, departed, params.verdict.margin)
    drawn = {name: rendered(figure, evidence) for name, figure in figures.items()}
    pictures = [picture(name, figure, drawn[name]["svg"]) for name, figure in figures.items()]
    numbers = metrics(cells, params.similarity)
    networks = network_table(evidence.networks, own, evidence.data)
    similarity = wide(evidence.similarity, LAYERS)
    measured = {
        "cells": cells,
        "controls": control_table(evidence, own),
        "networks": networks,
        "trials": wide(evidence.trials, TRIAL[:-2]) if len(evidence.trials) else evidence.trials,
        "similarity": similarity,
    }
    paper = {
        "claims": held_claims(params.claims, measured),
        "published": beside(params.root, params.published, measured) if params.published else DataFrame(columns=BESIDE),
        "protocol": _protocol(params),
    }
    tables = {
        "cells": cells,
        "comparisons": held,
        "verdicts": judged,
        "controls": evidence.controls,
        "networks": evidence.networks,
        "audits": evidence.audits,
        "control_audits": evidence.control_audits,
        "detectors": evidence.detectors,
        "similarity": similarity,
        "similarity_over_seeds": over_seeds(evidence.similarity),
        **({"trials": evidence.trials} if params.trials else {}),
        **{name: paper[name] for name in ("claims", "published") if len(paper[name])},
    }
    return {
        **{f"figures/{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()},
        **{f"tables/{name}.csv": _csv(rows) for name, rows in tables.items()},
        "plots/accuracy_by_cut.csv": _csv(accuracy_plot(cells)),
        "metrics.json": f"{json.dumps(numbers, indent=2)}\n".encode(),
        "index.html": page.html(_contents(params, evidence, measured, held, judged, paper, pictures)).encode(),
    }


def put(folder: Path, files: dict[str, bytes]) -> None:
    """All of `files` under `folder`, in place of what was there under the same first names.

    They are written beside one another first and moved when all are whole, the page last, so that
    a report that is there is a report that was finished.
    """
    unfinished = folder / _UNFINISHED
    shutil.rmtree(unfinished, ignore_errors=True)
    for name, data in files.items():
        path = unfinished / "new" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (unfinished / "old").mkdir()
    for top in dict.fromkeys(name.split("/")[0] for name in files):
        if (folder / top).exists():  # a folder that is not empty cannot be replaced in one step
            (folder / top).rename(unfinished / "old" / top)
        (unfinished / "new" / top).rename(folder / top)
    shutil.rmtree(unfinished)


def tidy_inputs(params: Params) -> list[Path]:
    """Deletes results of variants no longer in params from the folders that this stage depends on."""
    pairs = list(product(params.senders, params.receivers, params.seeds))
    networks = list(product(params.models, params.seeds))
    unstitched = (paths.unstitched(*network, data) for network in networks for data in params.extract.datasets)
    wanted: dict[Path, Iterable[Path]] = {
        paths.DATASETS: map(paths.dataset, params.datasets),
        paths.NETWORKS: (paths.network(*network) for network in networks),
        paths.UNSTITCHED: unstitched,
        paths.STITCHES: (paths.stitches(*pair) for pair in pairs),
        paths.CELLS: (paths.cells(*pair) for pair in pairs),
        paths.AUDITS: (paths.audit(*pair) for pair in pairs),
        paths.CONTROLS: (paths.controls(*receiver) for receiver in product(params.receivers, params.seeds)),
        paths.DETECTORS: (paths.detectors(*receiver) for receiver in product(params.receivers, params.seeds)),
        paths.COMPARISONS: map(paths.comparison, params.similarity),
        paths.TRIALS: map(paths.trial, params.trials),
    }
    return [path for folder, expected in wanted.items() for path in tidy(folder, expected)]


def _protocol(params: Params) -> DataFrame:
    if params.published is None:
        return DataFrame(columns=PROTOCOL)
    return protocol(params.root, params.published, Path.cwd().name)


def _contents(
    params: Params,
    evidence: Evidence,
    measured: dict[str, DataFrame],
    held: DataFrame,
    judged: DataFrame,
    paper: dict[str, DataFrame],
    pictures: list[Picture],
) -> Contents:
    cells, networks = measured["cells"], measured["networks"]
    few = len(judged) <= _MOST
    rows = {"networks": networks} | ({"cells": cells, "comparisons": held, "verdicts": judged} if few else {})
    first, *others = finding(cells, evidence.home, judged, params.ranks, params.similarity, params.detectors)
    return Contents(
        study=params.study,
        finding=[first, *filter(None, [tally(paper["claims"])]), *others],
        pictures=pictures,
        verdicts=shown_verdicts(cells, held, judged, params) if few else tallied_verdicts(judged),
        cells=shown_cells(cells if few else cells.head(0), params),
        controls=shown_controls(measured["controls"], params),
        networks=shown_networks(networks, evidence.data),
        detectors=shown_detectors(evidence.detectors),
        trials=belief_table(evidence.trials, params.trials),
        claims=claims_table(paper["claims"]),
        published=published_table(paper["published"]),
        protocol=protocol_table(paper["protocol"]),
        seeds=f"Each model has seeds {', '.join(map(str, params.seeds))}; what is drawn for data, networks and "
        f"stitches descends from {params.seed}, resamples of intervals from 0.",
        data={name: page.columns_of(part) for name, part in rows.items()},
        **shown_provenance(params),
    )


def _csv(rows: DataFrame) -> bytes:
    return rows.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
