"""Rows to figures, tables, few numbers, and one page."""

import json
import shutil
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from pandas import DataFrame

from pipeline import journal, page, paths
from pipeline.believing import belief_table
from pipeline.departures import departures
from pipeline.evidence import read_evidence
from pipeline.figures import FIGURES
from pipeline.figures.base import Evidence, Figure
from pipeline.figures.style import rendered, words
from pipeline.figures.tables import distinct, summarised, where
from pipeline.page import Contents, Format, Picture, Table, picture, table
from pipeline.params import Params
from pipeline.provenance import digest_table, stage_table, version_table
from pipeline.registry import build
from pipeline.similarities import LAYERS, calibrated, over_seeds
from pipeline.summary import (
    KEYS,
    accuracy_plot,
    auroc_of,
    cell_table,
    finding,
    metrics,
    network_table,
    verdict_table,
    wide,
)
from pipeline.tidying import tidy
from pipeline.verdicts import MEANINGS, PAIR, SHORT, comparisons, verdicts

_UNFINISHED = ".unfinished"


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
    tables = {
        "cells": cells,
        "comparisons": held,
        "verdicts": judged,
        "controls": evidence.controls,
        "networks": evidence.networks,
        "audits": evidence.audits,
        "control_audits": evidence.control_audits,
        "detectors": evidence.detectors,
        "similarity": evidence.similarity,
        "similarity_over_seeds": over_seeds(evidence.similarity),
        **({"trials": evidence.trials} if params.trials else {}),
    }
    return {
        **{f"figures/{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()},
        **{f"tables/{name}.csv": _csv(rows) for name, rows in tables.items()},
        "plots/accuracy_by_cut.csv": _csv(accuracy_plot(cells)),
        "metrics.json": f"{json.dumps(numbers, indent=2)}\n".encode(),
        "index.html": page.html(_contents(params, evidence, cells, held, judged, pictures)).encode(),
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


def _contents(
    params: Params,
    evidence: Evidence,
    cells: DataFrame,
    held: DataFrame,
    judged: DataFrame,
    pictures: list[Picture],
) -> Contents:
    own = {name: model.dataset for name, model in params.models.items()}
    networks = network_table(evidence.networks, own, evidence.data)
    rows = {"cells": cells, "comparisons": held, "verdicts": judged, "networks": networks}
    rows["similarity"] = wide(evidence.similarity, LAYERS)
    return Contents(
        study=params.study,
        finding=finding(cells, evidence.home, judged, params.ranks, params.similarity, params.detectors),
        pictures=pictures,
        verdicts=_shown_verdicts(cells, held, judged, params),
        cells=_shown_cells(cells, params),
        networks=_shown_networks(networks, evidence.data),
        detectors=_shown_detectors(evidence.detectors),
        trials=belief_table(evidence.trials, params.trials),
        seeds=f"Each model has seeds {', '.join(map(str, params.seeds))}; all randomness descends from {params.seed}.",
        data={name: page.columns_of(part) for name, part in rows.items()},
        **_shown_provenance(params),
    )


def _csv(rows: DataFrame) -> bytes:
    return rows.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()


def _shown_verdicts(cells: DataFrame, held: DataFrame, judged: DataFrame, params: Params) -> Table:
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in PAIR if key != "receiver"}
    if len(params.receivers) > 1:
        columns = {"receiver": ("receiver", str), **columns}
    columns |= {"verdict": ("verdict", str)}
    columns |= {"outside": ("out of distribution by", _named)} if params.detectors else {}
    columns |= {"accuracy": ("accuracy, stitched", page.percent)}
    columns |= {"shown": ("points over the receiver unstitched", str)}
    there = distinct(held, "baseline")
    columns |= {f"over_{name}": (f"points over {SHORT[name]}", page.points) for name in SHORT if name in there}
    columns |= {"by_recalibration": ("share of the gain by recalibration", page.share)}
    columns |= {rank: (f"{words(rank)} rank, over the receiver’s", page.ratio) for rank in params.ranks}
    if "distance" in cells:
        columns |= {"distance": ("distance to the receiver’s own", str)}
    columns |= {index: (words(index), str) for index in _similarities(cells, params)}
    columns |= {auroc_of(name): (f"AUROC over own, {words(name)}", str) for name in params.detectors}
    rules = params.verdict
    said = ". ".join(f"{name.capitalize()}: {meaning}" for name, meaning in MEANINGS.items())
    caption = (
        f"Each row is a stitch ({words(params.stitch.map)}), its numbers means over {len(params.seeds)} seeds, "
        f"those after ± deviations over them. {said}. Intervals hold {100 * rules.confidence:g} % of the time; a "
        f"difference within {100 * rules.margin:g} points is none. Activations are out of distribution by a detector where the interval of its AUROC over the "
        f"receiver’s own lies above {rules.auroc:g} in every seed; a rank is another where it is {rules.rank_ratio:g} "
        "times the receiver’s own, or more, or that much less, in every seed. A distance is of squares, over the "
        "receiver’s own spread: 0 where the two are the same, 1 as far as the mean alone. A compatible stitch is still "
        "no evidence that the two networks carry the same information."
    )
    means = [*_similarities(cells, params), *map(auroc_of, params.detectors), *({"distance"} & {*cells})]
    rows = verdict_table(cells, held, judged, params.ranks, means)
    return table(caption, rows, columns, keys=list(columns).index("accuracy"))


def _named(names: str) -> str:
    return ", ".join(map(words, names.split())) or "none"


def _similarities(cells: DataFrame, params: Params) -> list[str]:
    """Each index and, where there were permutations, the same calibrated."""
    return [measure for index in params.similarity for measure in (index, calibrated(index)) if measure in cells]


def _shown_cells(cells: DataFrame, params: Params) -> Table:
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in KEYS if key not in ("data", "map")}
    columns |= {
        "accuracy": ("accuracy, stitched", page.percent),
        "unstitched": ("accuracy, receiver unstitched", page.percent),
        "difference": ("difference, points", page.points),
    }
    columns |= {name: (f"accuracy, {SHORT[name]}", page.percent) for name in SHORT if name in cells}
    for rank in params.ranks:
        columns |= {rank: (f"{words(rank)} rank, stitched", page.number)}
        columns |= {f"receiver_{rank}": (f"{words(rank)} rank, receiver unstitched", page.number)}
    columns |= {"distance": ("distance to the receiver’s own", page.ratio)} if "distance" in cells else {}
    columns |= {
        measure: (f"{words(measure)}, sender to receiver", page.similarity) for measure in _similarities(cells, params)
    }
    columns |= {
        auroc_of(name): (f"AUROC of the stitched over the receiver’s own, {words(name)}", page.similarity)
        for name in params.detectors
    }
    caption = (
        f"Each row is one stitch of one seed, trained and tested on {words(params.stitch.data)}. No accuracy stands "
        "alone: beside it are what the receiver reaches unstitched and what the controls reach, the rank of the "
        "receiver’s first layer after the stitch, and the similarity of the two layers before it; calibrated it is 0 "
        "for layers as alike as if the images of one were permuted, and 1 for the same layer. Each detector’s "
        "AUROC is the chance that a stitched activation looks further out of the receiver’s distribution than one of "
        "its own: 0.5 where they cannot be told apart, 1 where every stitched one can."
    )
    return table(caption, cells, columns, keys=6)


def _shown_networks(networks: DataFrame, data: str) -> Table:
    columns = {
        "model": ("model", str),
        "seed": ("seed", str),
        "own_data": ("learned from", str),
        "own_accuracy": ("test accuracy on that", page.percent),
        "accuracy": (f"test accuracy on {words(data)}", page.percent),
    }
    return table("Each whole network, unstitched.", networks, columns, keys=3)


def _shown_detectors(rows: DataFrame) -> Table:
    """Means over seeds: a wide table of the measures that there are."""
    keys = ["receiver", "cut", "detector"]
    measures = distinct(rows, "measure")
    wide = rows.reindex(columns=keys).drop_duplicates()
    for measure in measures:
        means = summarised(where(rows, measure=measure), keys, "value", **{measure: "mean"})
        wide = wide.merge(means, how="left", validate="one_to_one")
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in keys}
    said = {"held_out": "own test images over own training images", "auxiliary": "auxiliary images over own"}
    columns |= {name: (f"AUROC, {said[name]}", page.similarity) for name in measures}
    caption = (
        "How far each detector can be trusted at each cut: 0.5 is best in the first column, where nothing is out of "
        "distribution; above it, the detector is sure of the very images that it was fitted to."
    )
    return table(caption, wide, columns, keys=3)


def _shown_provenance(params: Params) -> dict[str, Table]:
    entries = journal.read()
    stages, versions = stage_table(entries, params), version_table(entries, params)
    shown = {
        "stage": ("stage", str),
        "runs": ("runs", lambda runs: str(runs or "not run on this machine")),
        "seconds": ("took", lambda seconds: page.duration(seconds) if seconds else "–"),
        "bytes": ("wrote", lambda count: page.size(count) if count else "–"),
    }
    digests = {"of": ("of", str), "digest": ("sha256", str)}
    packages = {"package": ("package", str), "versions": ("versions", str)}
    return {
        "stages": table("Runs of each stage on this machine; time is the sum over runs.", stages, shown, keys=1),
        "versions": table("What those runs used.", versions, packages, keys=2),
        "digests": table("What this report rests on.", digest_table(params), digests, keys=2),
    }
