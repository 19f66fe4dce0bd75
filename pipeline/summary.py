"""What the rows of a study say, in tables, in few numbers and in sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import cast

from pandas import DataFrame, Series

from pipeline.errors import DataError
from pipeline.figures.base import INPUT, Evidence
from pipeline.figures.style import words
from pipeline.figures.tables import chosen, distinct, groups, series, summarised, where
from pipeline.similarities import calibrated, defined, spread
from pipeline.verdicts import MEANINGS, PAIR, UNINFORMATIVE, baselines, called

KEYS = ["sender", "receiver", "seed", "data", "sender_cut", "receiver_cut", "map", "objective"]
_DIGITS = 6  # of what is written; beyond these machines differ


def cell_table(evidence: Evidence, own: Mapping[str, str]) -> DataFrame:
    """One row a cell, with all that a stitched accuracy must not be shown without.

    After KEYS come accuracy, unstitched (the receiver's own, on what it is stitched towards), difference, sender_lies
    (earlier, level or later in its network than the receiver's cut in its own), what else it is held against
    (`verdicts.BASELINES`), the other measures of the cell, each rank beside the
    receiver's, and each similarity from the sender's layer to the receiver's, with what it is read beside. `own` is the
    dataset that each model learnt. A control that an objective cannot have is empty there.
    """
    table = wide(evidence.cells, KEYS)
    table = _joined(table, _unstitched(evidence), "networks")
    table = _joined(table, _at_home(evidence, own), "networks")
    for name in distinct(evidence.controls, "sender"):
        table = table.merge(_control(evidence.controls, name), how="left", validate="many_to_one")
    table["difference"] = table["accuracy"] - table["unstitched"]
    table["sender_lies"] = [
        _lies(evidence.cuts, *place)
        for place in table[["sender", "sender_cut", "receiver", "receiver_cut"]].itertuples(index=False)
    ]
    held = [name for name in baselines(table) if name != "unstitched"]
    first = [*KEYS, "accuracy", "unstitched", "difference", "sender_lies", *held]
    table = table.reindex(columns=[*first, *(column for column in table if column not in first)])
    table = _joined(table, wide(evidence.audits, KEYS), "audits")
    if set(table["receiver_cut"]) == {INPUT}:  # which no layer is compared with
        return table.reindex(columns=[*table, *distinct(evidence.similarity, "measure")])
    return _joined(table, _similarities(evidence), "comparisons")


def control_table(evidence: Evidence) -> DataFrame:
    """One row a cell whose sender is a control, as those of `cell_table`, with fewer columns."""
    if evidence.controls.empty:
        return DataFrame(columns=KEYS)
    table = _joined(wide(evidence.controls, KEYS), _unstitched(evidence), "networks")
    table["difference"] = series(table, "accuracy") - series(table, "unstitched")
    return table.merge(wide(evidence.control_audits, KEYS), how="left", on=KEYS, validate="one_to_one")


def _lies(cuts: Mapping[str, Sequence[str]], sender: str, cut: str, receiver: str, other: str) -> str:
    """Where the sender's cut lies on the way through its network, against the receiver's in its own."""
    if other == INPUT:
        return "later"
    one, two = (_way(cuts[model], at) for model, at in ((sender, cut), (receiver, other)))
    return "level" if one == two else "earlier" if one < two else "later"


def _way(cuts: Sequence[str], cut: str) -> Fraction:
    return Fraction(cuts.index(cut), max(len(cuts) - 1, 1))


def _at_home(evidence: Evidence, own: Mapping[str, str]) -> DataFrame:
    """Of each network its accuracy on what it learnt from."""
    names = {"accuracy": "own", "samples": "own_samples"}
    places = zip(evidence.networks["model"], evidence.networks["data"], strict=True)
    home = chosen(evidence.networks, [own[model] == data for model, data in places])
    rows = wide(chosen(home, home["measure"].isin(list(names))), ["model", "seed"])
    return rows.rename(columns={"model": "receiver", **names})


def _control(rows: DataFrame, name: str) -> DataFrame:
    """The accuracy of one control beside the keys of the cells that it is a control of."""
    keys = ["receiver", "seed", "data", "receiver_cut", "map", "objective"]
    names = {"accuracy": name, "samples": f"{name}_samples"}
    found = where(chosen(rows, rows["measure"].isin(list(names))), sender=name)
    return wide(found, keys).rename(columns=names) if len(found) else DataFrame(columns=[*keys, *names.values()])


def network_table(networks: DataFrame, own: Mapping[str, str], data: str) -> DataFrame:
    """One row a network: accuracy on the dataset it learned and on that of the stitches."""
    accuracy = networks[networks["measure"] == "accuracy"].set_index(["model", "seed", "data"])["value"]
    keys = networks[["model", "seed"]].drop_duplicates()
    rows = [
        (model, seed, own[model], accuracy[model, seed, own[model]], accuracy[model, seed, data])
        for model, seed in keys.itertuples(index=False)
    ]
    return DataFrame(rows, columns=["model", "seed", "own_data", "own_accuracy", "accuracy"])


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
                if measure in rows
            },
        }
        rounded = {name: round(float(cast(float, number)), _DIGITS) for name, number in numbers.items()}
        found.setdefault(receiver, {})[objective] = rounded
    return found


def accuracy_plot(cells: DataFrame) -> DataFrame:
    """Means over seeds, for `dvc plots`: receiver objective sender cut accuracy unstitched."""
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
    return " ".join([f"Into {receiver} by the {objective} objective.", *said])


def _tally(rows: DataFrame) -> str:
    verdicts = series(rows, "verdict").tolist()
    return ", ".join(f"{verdicts.count(name)} {name}" for name in MEANINGS if name in verdicts)


_EMPTY = {"noise": "clustered noise", "random": "an untrained sender", "probe": "a linear probe of the sender alone"}


def _counts(cells: DataFrame, home: str) -> str:
    data = distinct(cells, "data")[0]
    there = "the same images" if data == home else f"those of {home}, its own"
    text = (
        f"{_of(cells)} cells classify the test images of {data} at least as well as their receiver does "
        f"unstitched on {there}. By objective: {_by(cells, 'objective')}. By sender: {_by(cells, 'sender')}."
    )
    own = chosen(cells, cells["sender"] == cells["receiver"])
    return text if own.empty else f"{text} Of the cells that stitch a network into itself, a control, {_of(own)} do."


def _by(cells: DataFrame, key: str) -> str:
    return ", ".join(f"{name} {_of(rows)}" for (name,), rows in groups(cells, key))


def _of(cells: DataFrame) -> str:
    return f"{sum(as_good(cells))} of {len(cells)}"


def _besides(good: DataFrame, ranks: Iterable[str], indices: Iterable[str], detectors: Iterable[str]) -> Iterator[str]:
    """How far apart sender and receiver are in the cells that are as good as the receiver."""
    others = chosen(good, good["sender"] != good["receiver"])
    if others.empty:
        return
    said = [
        f"{_range(series(others, rank) / series(others, f'receiver_{rank}'))} times the receiver’s own {rank} rank"
        for rank in ranks
    ]
    said += [f"{index} of {_range(series(others, index))} between the two layers" for index in indices]
    said += [
        f"{index} calibrated, 0 being chance, of {_range(series(others, calibrated(index)))}"
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


def wide(rows: DataFrame, keys: list[str]) -> DataFrame:
    """A column for each measure, in the order of first appearance."""
    repeated = chosen(rows, rows.duplicated([*keys, "measure"]))
    if not repeated.empty:
        raise DataError(
            f"{_place(repeated, keys)}: has {distinct(repeated, 'measure')[0]} twice; it should have it once"
        )
    table = cast(DataFrame, series(rows.set_index([*keys, "measure"]), "value").unstack("measure"))
    order = rows[keys].drop_duplicates()
    wide = table.loc[list(order.itertuples(index=False, name=None)), distinct(rows, "measure")]
    return wide.rename_axis(columns=None).reset_index()


def _unstitched(evidence: Evidence) -> DataFrame:
    """Of each network on each dataset, with its own statistics and with recalibrated ones."""
    names = {"accuracy": "unstitched", "samples": "unstitched_samples"}
    if evidence.home == evidence.data:  # elsewhere its BatchNorms meet other images than the stitch's
        names["recalibrated_accuracy"] = "recalibrated"
    names = {evidence.unstitched(measure): name for measure, name in names.items()}
    rows = where(chosen(evidence.networks, evidence.networks["measure"].isin(list(names))), data=evidence.home)
    return wide(rows.assign(data=evidence.data), ["model", "seed", "data"]).rename(
        columns={"model": "receiver", **names}
    )


def _similarities(evidence: Evidence) -> DataFrame:
    """By sender's layer and receiver's; those of one seed, as cells have one."""
    names = {"model": "sender", "cut": "sender_cut", "other_model": "receiver", "other_cut": "receiver_cut"}
    rows = chosen(evidence.similarity, evidence.similarity["seed"] == evidence.similarity["other_seed"])
    return wide(rows.rename(columns=names), ["data", "seed", "sender", "sender_cut", "receiver", "receiver_cut"])


def _joined(table: DataFrame, other: DataFrame, name: str) -> DataFrame:
    """`table` with the columns of `other`; each of its rows must have its partner there."""
    keys = [column for column in KEYS if column in other]
    joined = table.merge(other, on=keys, how="left", indicator=True, validate="many_to_one")
    alone = where(joined, _merge="left_only")
    if not alone.empty:
        raise DataError(f"{name}: has no row for {_place(alone, keys)}; run `dvc repro`")
    return joined.drop(columns="_merge")


def _place(rows: DataFrame, keys: list[str]) -> str:
    return ", ".join(f"{key} {distinct(rows, key)[0]}" for key in keys)
