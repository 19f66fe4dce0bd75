"""Rows → the tables of the page, with what each says above it."""

from typing import Any, cast

from pandas import DataFrame

from pipeline import journal, page
from pipeline.figures.style import words
from pipeline.figures.tables import distinct, groups, series, summarised, where
from pipeline.page import Format, Table, table
from pipeline.params import Params
from pipeline.provenance import digest_table, stage_table, version_table
from pipeline.similarities import calibrated
from pipeline.summary import auroc_of, verdict_table
from pipeline.verdicts import MEANINGS, PAIR, SHORT, baselines, called
from pipeline.wide import KEYS


def shown_verdicts(cells: DataFrame, held: DataFrame, judged: DataFrame, params: Params) -> Table:
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in PAIR if key != "receiver"}
    if len(params.receivers) > 1:
        columns = {"receiver": ("receiver", str), **columns}
    columns |= {"verdict": ("verdict", str)}
    columns |= {"accuracy": ("accuracy, stitched", page.percent)}
    columns |= {"shown": ("points over the receiver unstitched", str)}
    there = baselines(distinct(held, "baseline"))
    columns |= {f"over_{name}": (f"points over {called(name, SHORT)}", page.points) for name in there[1:]}
    columns |= {"by_recalibration": ("share of the gain by recalibration", page.share)}
    columns |= {rank: (f"{words(rank)} rank, over the receiver’s", page.ratio) for rank in params.ranks}
    if "distance" in cells:
        columns |= {"distance": ("distance to the receiver’s own", str)}
    columns |= {index: (words(index), str) for index in _similarities(cells, params)}
    columns |= {auroc_of(name): (f"AUROC over own, {words(name)}", str) for name in params.detectors}
    columns |= {"words": ("in words, it", str)}
    rules = params.verdict
    said = ". ".join(f"{name.capitalize()}: {meaning}" for name, meaning in MEANINGS.items())
    caption = (
        f"Each row is a stitch ({words(params.stitch.map)}), {_means(params)}. {said}. Intervals hold "
        f"{100 * rules.confidence:g} % of the time; a difference within {100 * rules.margin:g} points is none. "
        "Activations are out of distribution by a detector where the interval of its AUROC over the receiver’s own is "
        f"above {rules.auroc:g} in every seed, nearer to its middle where it lies below {1 - rules.auroc:g}; a rank is "
        f"another where it is {rules.rank_ratio:g} times the "
        "receiver’s own, or more, or that much less, in every seed. A distance is of squares, over the receiver’s own "
        "spread: 0 where the two are the same, 1 as far as the mean alone. A compatible stitch is still no evidence "
        "that the two networks carry the same information."
    )
    means = [*_similarities(cells, params), *map(auroc_of, params.detectors), *({"distance"} & {*cells})]
    rows = verdict_table(cells, held, judged, params.ranks, means)
    return table(caption, rows, columns, keys=list(columns).index("accuracy"))


def _means(params: Params) -> str:
    if len(params.seeds) == 1:
        return "its numbers those of one seed"
    return f"its numbers means over {len(params.seeds)} seeds, those after ± deviations over them"


def tallied_verdicts(judged: DataFrame) -> Table:
    """In place of the verdicts, where there are more than a page can show."""
    keys = ["receiver", "objective", "sender"]
    names = [name for name in MEANINGS if name in distinct(judged, "verdict")]
    rows = [
        (*pair, len(found), *(series(found, "verdict").tolist().count(name) for name in names))
        for pair, found in groups(judged, *keys)
    ]
    columns: dict[str, tuple[str, Format]] = {name: (name, str) for name in (*keys, "stitches", *names)}
    said = ". ".join(f"{name.capitalize()}: {MEANINGS[name]}" for name in names)
    caption = (
        f"Each row is a sender and a receiver: how many of their stitches have each verdict. {said}. The {len(judged)} "
        "verdicts themselves are in tables/verdicts.csv, with what they rest on in comparisons.csv and cells.csv."
    )
    return table(caption, DataFrame(rows, columns=list(columns)), columns, keys=3)


def shown_controls(controls: DataFrame, params: Params) -> Table:
    """Means over seeds of what is stitched in the senders' place."""
    keys = ["receiver", "objective", "sender", "receiver_cut"]
    numbers: dict[str, tuple[str, Format]] = {
        "accuracy": ("accuracy, stitched", page.percent),
        "unstitched": ("accuracy, receiver unstitched", page.percent),
        "own": ("accuracy, receiver on its own data", page.percent),
        "difference": ("points over the receiver unstitched", page.points),
    }
    numbers |= {name: (f"{words(name)} rank, stitched", page.number) for name in params.ranks}
    numbers |= {f"receiver_{name}": (f"{words(name)} rank, receiver unstitched", page.number) for name in params.ranks}
    numbers |= {auroc_of(name): (f"AUROC over own, {words(name)}", page.similarity) for name in params.detectors}
    numbers = {name: told for name, told in numbers.items() if name in controls}
    means = DataFrame([], columns=keys)
    if len(controls):
        means = cast(DataFrame, cast(Any, controls.groupby(keys, sort=False)[list(numbers)]).mean().reset_index())
        spread = summarised(controls, keys, "accuracy", low="min", high="max")
        means["range"] = [
            f"{page.percent(low)} to {page.percent(high)}"
            for low, high in spread[["low", "high"]].itertuples(index=False, name=None)
        ]
        numbers = {"accuracy": numbers.pop("accuracy"), "range": ("in single seeds", str), **numbers}
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in keys}
    columns["sender"] = ("control", str)
    place = f"Each row is a control in the senders’ place, {_means(params)}."
    caption = f"{place} Noise is trained and tested on its own classes."
    return table(caption, means, columns | numbers, keys=4)


def _similarities(cells: DataFrame, params: Params) -> list[str]:
    """Each index and, where there were permutations, the same calibrated."""
    return [measure for index in params.similarity for measure in (index, calibrated(index)) if measure in cells]


def shown_cells(cells: DataFrame, params: Params) -> Table:
    columns: dict[str, tuple[str, Format]] = {key: (words(key), str) for key in KEYS if key not in ("data", "map")}
    columns |= {
        "accuracy": ("accuracy, stitched", page.percent),
        "unstitched": ("accuracy, receiver unstitched", page.percent),
        "difference": ("difference, points", page.points),
    }
    columns |= {name: (f"accuracy, {called(name, SHORT)}", page.percent) for name in baselines(cells)[1:]}
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


def shown_networks(networks: DataFrame, data: str) -> Table:
    columns = {
        "model": ("model", str),
        "seed": ("seed", str),
        "own_data": ("learned from", str),
        "own_accuracy": ("test accuracy on that", page.percent),
        "accuracy": (f"test accuracy on {words(data)}", page.percent),
    }
    return table("Each whole network, unstitched.", networks, columns, keys=3)


def shown_detectors(rows: DataFrame) -> Table:
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


def shown_provenance(params: Params) -> dict[str, Table]:
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
