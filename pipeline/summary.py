"""What the rows of a study say, in tables, in few numbers and in sentences."""

from collections.abc import Iterable, Iterator
from typing import cast

from pandas import DataFrame, Series

from pipeline.figures.style import words
from pipeline.figures.tables import alike, chosen, distinct, groups, series, summarised, where
from pipeline.similarities import calibrated, defined, spread
from pipeline.verdicts import MEANINGS, PAIR, UNINFORMATIVE, baselines, called

_DIGITS = 6  # of what is written; beyond these machines differ


def metrics(cells: DataFrame, indices: Iterable[str]) -> dict[str, dict[str, dict[str, float]]]:
    """A few numbers by receiver and objective, for `dvc metrics`."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (receiver, objective), rows in groups(cells, "receiver", "objective"):
        numbers = {
            "accuracy_mean": rows["accuracy"].mean(),
            "accuracy_min": rows["accuracy"].min(),
            "unstitched_accuracy": rows.drop_duplicates("seed")["unstitched"].mean(),
            "share_at_or_above_unstitched": as_good(rows).mean(),
            **{
                f"{measure}_mean": series(rows, measure).mean()
                for index in indices
                for measure in (index, calibrated(index))
                if defined(rows, measure)  # nothing is similar to an input
            },
        }
        rounded = {name: round(float(cast(float, number)), _DIGITS) for name, number in numbers.items()}
        found.setdefault(receiver, {})[objective] = rounded
    return found


def accuracy_plot(cells: DataFrame) -> DataFrame:
    """Means over seeds, for `dvc plots`: receiver objective sender cut accuracy unstitched."""
    cells = alike(cells)
    keys = ["receiver", "objective", "sender", "receiver_cut"]
    means = summarised(cells, keys, "accuracy", accuracy="mean")
    means["unstitched"] = summarised(cells, keys, "unstitched", unstitched="mean")["unstitched"]
    return means.rename(columns={"receiver_cut": "cut"})


def as_good(cells: DataFrame) -> Series:
    """Of each cell, whether it classifies at least as well as its receiver does unstitched."""
    return series(cells, "accuracy") >= series(cells, "unstitched")


def verdict_table(
    cells: DataFrame, held: DataFrame, judged: DataFrame, ranks: Iterable[str], indices: Iterable[str]
) -> DataFrame:
    """`judged` with what it rests on: means over seeds, the interval over the receiver, points over each baseline.

    Of indices the deviation over seeds as well, as a text.
    """
    own = where(held, baseline="unstitched")
    columns = [*PAIR, "accuracy", "difference", "low", "high"]
    table = judged.merge(own.reindex(columns=columns), how="left", validate="one_to_one")
    numbers = zip(table["difference"], table["low"], table["high"], strict=True)
    table["shown"] = [f"{points(mean)} ({points(low)} to {points(high)})" for mean, low, high in numbers]
    for (name,), rows in groups(held, "baseline"):
        over = rows.rename(columns={"difference": f"over_{name}"}).reindex(columns=[*PAIR, f"over_{name}"])
        table = table.merge(over, how="left", validate="one_to_one")
    for rank in ranks:
        ratios = cells.assign(ratio=series(cells, rank) / series(cells, f"receiver_{rank}"))
        table = table.merge(summarised(ratios, PAIR, "ratio", **{rank: "mean"}), how="left", validate="one_to_one")
    for index in indices:
        shown = [(*pair, spread(rows[index])) for pair, rows in groups(cells, *PAIR)]
        table = table.merge(DataFrame(shown, columns=[*PAIR, index]), how="left", validate="one_to_one")
    return table


def auroc_of(detector: str) -> str:
    """The measure of an audit that holds a detector's AUROC, of the stitched over the receiver's own."""
    return f"auroc_{detector}"


def points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def finding(
    cells: DataFrame,
    home: str,
    judged: DataFrame,
    ranks: Iterable[str],
    indices: Iterable[str],
    detectors: Iterable[str],
) -> list[str]:
    """What was found, a paragraph each: verdicts, what they were found beside, what follows from them."""
    good = chosen(cells, as_good(cells))
    return [_judged(judged), _counts(cells, home), *_besides(good, ranks, indices, detectors), _meaning(good)]


def _judged(judged: DataFrame) -> str:
    parts = groups(judged, "receiver", "objective")
    return " ".join(_judged_by(receiver, objective, rows) for (receiver, objective), rows in parts)


def _judged_by(receiver: str, objective: str, rows: DataFrame) -> str:
    others = chosen(rows, series(rows, "sender") != receiver)
    own = where(rows, sender=receiver)
    empty = {name for names in series(where(others, verdict=UNINFORMATIVE), "as_well") for name in names.split()}
    told = " or ".join(called(name, _EMPTY) for name in baselines(empty))
    said = [f"Of {len(others)} stitches of other models: {_tally(others)}."] if len(others) else []
    said += [f"Where they are uninformative, {told} reaches the receiver’s accuracy as well."] if told else []
    said += [f"Of {len(own)} of its own, a control: {_tally(own)}."] if len(own) else []
    return " ".join([f"Into {words(receiver)} by the {words(objective)} objective.", *said])


def _tally(rows: DataFrame) -> str:
    verdicts = series(rows, "verdict").tolist()
    return ", ".join(f"{verdicts.count(name)} {name}" for name in MEANINGS if name in verdicts)


_EMPTY = {
    "noise": "clustered noise",
    "random": "an untrained sender",
    "probe": "a linear probe of the sender alone",
    "whole_probe": "a linear probe of all numbers of the sender alone",
}


def _counts(cells: DataFrame, home: str) -> str:
    data = distinct(cells, "data")[0]
    there = "the same images" if data == home else f"those of {words(home)}, its own"
    text = (
        f"{_of(cells)} cells classify the test images of {words(data)} at least as well as their receiver does "
        f"unstitched on {there}. By objective: {_by(cells, 'objective')}. By sender: {_by(cells, 'sender')}."
    )
    own = chosen(cells, cells["sender"] == cells["receiver"])
    return text if own.empty else f"{text} Of the cells that stitch a network into itself, a control, {_of(own)} do."


def _by(cells: DataFrame, key: str) -> str:
    return ", ".join(f"{words(name)} {_of(rows)}" for (name,), rows in groups(cells, key))


def _of(cells: DataFrame) -> str:
    return f"{sum(as_good(cells))} of {len(cells)}"


def _besides(good: DataFrame, ranks: Iterable[str], indices: Iterable[str], detectors: Iterable[str]) -> Iterator[str]:
    """How far apart sender and receiver are in the cells that are as good as the receiver."""
    others = chosen(good, good["sender"] != good["receiver"])
    if others.empty:
        return
    ratios = {rank: series(others, rank) / series(others, f"receiver_{rank}") for rank in ranks}
    said = [f"{_range(ratio)} times the receiver’s own {words(rank)} rank" for rank, ratio in ratios.items()]
    said += [
        f"{words(index)} of {_range(series(others, index))} between the two layers"
        for index in indices
        if defined(others, index)
    ]
    said += [
        f"{words(index)} calibrated, 0 being chance, of {_range(series(others, calibrated(index)))}"
        for index in indices
        if defined(others, calibrated(index))
    ]
    said += [
        f"an AUROC of {_range(series(others, auroc_of(name)))} of the stitched activations over the receiver’s own, by "
        f"the detector {words(name)}"
        for name in detectors
    ]
    yield (
        f"Cells among these whose sender is another model than the receiver: {len(others)}. In them one finds "
        f"{'; '.join(said)} (each lowest to highest, with the median)."
    )


def _range(values: Series) -> str:
    if f"{values.min():.2f}" == f"{values.max():.2f}":
        return f"{values.median():.2f}"
    return f"{values.min():.2f} to {values.max():.2f} ({values.median():.2f})"


def _meaning(good: DataFrame) -> str:
    if good.empty:
        return "No cell is as good as its receiver. That may be the representations or the stitch that was sought."
    return (
        "A cell that is as good as its receiver shows that a map of the given kind can turn what the sender "
        "gives into what the receiver’s tail sorts into the right classes. It does not show that the two networks "
        "use or carry the same information: the stitch was fitted on labelled or paired samples of this very data. "
        "Read it beside the ranks, the similarities, and the senders that are known to rely on something else."
    )
