"""The rows of a study side by side: one row a cell, a control or a network."""

from collections.abc import Mapping, Sequence
from typing import cast

from pandas import DataFrame

from pipeline.errors import DataError
from pipeline.figures.base import INPUT, Evidence
from pipeline.figures.tables import chosen, distinct, series, where
from pipeline.verdicts import baselines

KEYS = ["sender", "receiver", "seed", "data", "sender_cut", "receiver_cut", "map", "objective"]


def cell_table(evidence: Evidence, own: Mapping[str, str]) -> DataFrame:
    """One row a cell, with all that a stitched accuracy must not be shown without.

    After KEYS come accuracy, unstitched (the receiver's own, on what it is stitched towards), difference, relative (the
    one over the other), sender_lies (earlier, level or later than the receiver's cut, by how many cuts come before each
    in its own network), what else it is held against (`verdicts.BASELINES`), the other measures of the cell, each rank
    beside the receiver's, and each similarity from the sender's layer to the receiver's, with what it is read beside.
    `own` is the dataset that each model learnt. A control that an objective cannot have is empty there.
    """
    table = wide(evidence.cells, KEYS)
    table = _joined(table, _unstitched(evidence), "networks")
    table = _joined(table, _at_home(evidence, own), "networks")
    for name in distinct(evidence.controls, "sender"):
        table = table.merge(_control(evidence.controls, name), how="left", validate="many_to_one")
    table["difference"] = table["accuracy"] - table["unstitched"]
    table["relative"] = table["accuracy"] / table["unstitched"]
    table["sender_lies"] = [
        _lies(evidence.cuts, *place)
        for place in table[["sender", "sender_cut", "receiver", "receiver_cut"]].itertuples(index=False)
    ]
    held = [name for name in baselines(table) if name != "unstitched"]
    first = [*KEYS, "accuracy", "unstitched", "difference", "relative", "sender_lies", *held]
    table = table.reindex(columns=[*first, *(column for column in table if column not in first)])
    table = _joined(table, wide(evidence.audits, KEYS), "audits")
    if set(table["receiver_cut"]) == {INPUT}:  # which no layer is compared with
        return table.reindex(columns=[*table, *distinct(evidence.similarity, "measure")])
    return _joined(table, _similarities(evidence), "comparisons")


def control_table(evidence: Evidence, own: Mapping[str, str]) -> DataFrame:
    """One row a cell whose sender is a control, as those of `cell_table`, with fewer columns."""
    if evidence.controls.empty:
        return DataFrame(columns=KEYS)
    table = _joined(wide(evidence.controls, KEYS), _unstitched(evidence), "networks")
    table = _joined(table, _at_home(evidence, own), "networks")
    table["difference"] = series(table, "accuracy") - series(table, "unstitched")
    table["relative"] = series(table, "accuracy") / series(table, "unstitched")
    return table.merge(wide(evidence.control_audits, KEYS), how="left", on=KEYS, validate="one_to_one")


def _lies(cuts: Mapping[str, Sequence[str]], sender: str, cut: str, receiver: str, other: str) -> str:
    """Whether fewer, as many or more cuts come before the sender's in its network than before the receiver's in its."""
    if other == INPUT:
        return "later"
    one, two = cuts[sender].index(cut), cuts[receiver].index(other)
    return "level" if one == two else "earlier" if one < two else "later"


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
