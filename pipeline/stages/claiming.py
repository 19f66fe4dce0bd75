"""Whether a study has what its claims and published numbers are of, asked before it runs."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pipeline.controls import CONTROLS
from pipeline.controls.base import Control
from pipeline.errors import ParamsError, PipelineError, choices
from pipeline.figures.base import INPUT
from pipeline.naming import kind_of
from pipeline.params import Claim, Params
from pipeline.published import protocol, read
from pipeline.ranks import RANKS
from pipeline.registry import lookup
from pipeline.similarity import INDICES
from pipeline.tables import SIMILARITY, TRIAL
from pipeline.wide import KEYS

_NAMED = {"controls": CONTROLS, "ranks": RANKS, "similarity": INDICES}  # families whose variants name columns
_PLACES = {  # of each table, the columns that say what a row is of
    "cells": [*KEYS, "sender_lies"],
    "controls": KEYS,
    "networks": ["model", "seed", "own_data"],
    "trials": TRIAL[:-2],
    "similarity": SIMILARITY[:-2],
}
_SCORES = ("auroc_{}", "auroc_{}_low", "auroc_{}_high", "average_precision_{}", "fpr_at_95_{}")
_NUMBERS = ("accuracy", "unstitched", "difference", "relative", "own", "recalibrated", "labelled", "loss", "distance")


def unfounded(params: Params) -> Iterator[PipelineError]:
    """What claims and published numbers rest on that this study does not have."""
    names = {
        "sender": params.senders, "receiver": params.receivers, "objective": params.objectives, "model": params.models,
        "other_model": params.models, "seed": params.seeds, "other_seed": params.seeds, "trial": params.trials,
    }  # fmt: skip
    for number, claim in enumerate(params.claims):
        known_here = names | ({"sender": list(_stitched_controls(params))} if claim.of == "controls" else {})
        for key, column in (("measure", claim.measure), ("minus", claim.minus)):
            if column is not None:
                yield from _unmeasured(params, f"claims[{number}].{key}", claim.of, column)
        columns = [*_PLACES[claim.of], *measured(params, claim.of)]
        for place, key, values in _chosen(number, claim):
            if key not in columns:
                yield ParamsError(f"{place}: {key} is no column of {claim.of}; {choices(key, columns)}")
            for value in values if key in known_here else ():
                if value not in known_here[key]:
                    known = choices(str(value), map(str, known_here[key]))
                    yield ParamsError(f"{place}.{key}: {value} is not defined; {known}")
    if params.published is not None:
        try:
            read(params.root, params.published)
            protocol(params.root, params.published, Path.cwd().name)
        except PipelineError as error:
            yield error


def uncut(params: Params, cuts: Collection[str]) -> Iterator[PipelineError]:
    """What claims say of cells at cuts that no network has."""
    known = [*cuts, INPUT]
    for number, claim in enumerate(params.claims):
        for place, key, values in _chosen(number, claim) if claim.of in ("cells", "controls") else ():
            for value in values if key in ("sender_cut", "receiver_cut") else ():
                if value not in known:
                    yield ParamsError(
                        f"{place}.{key}: {value} is no cut of these networks; {choices(str(value), known)}"
                    )


def _chosen(number: int, claim: Claim) -> Iterator[tuple[str, str, list[Any]]]:
    """Of its rows, and of those that it holds them against: the place in params, the column, and the values there."""
    for part, wanted in (("where", claim.where), ("than", claim.than or {})):
        for key, values in wanted.items():
            yield f"claims[{number}].{part}", key, values if isinstance(values, list) else [values]


def _stitched_controls(params: Params) -> Iterator[str]:
    """Those that have cells; a probe has none."""
    for name in params.controls if params.stitch.pairs != "input" else ():
        if kind_of(name) in CONTROLS and issubclass(lookup("controls", CONTROLS, kind_of(name)), Control):
            yield name


def measured(params: Params, of: str) -> list[str]:
    """The columns with numbers that a table will have; of trials none, for each of them has its own."""
    indices = [f"{name}{what}" for name in params.similarity for what in ("", "_calibrated", "_null", "_p", "_error")]
    others = {"networks": ["own_accuracy", "accuracy"], "trials": [], "similarity": indices}
    if of in others:
        return others[of]
    scores = [score.format(name) for name in params.detectors for score in _SCORES]
    ranks = [f"{whose}{name}" for name in params.ranks for whose in ("", "receiver_")]
    errors = ["error", *(f"error_{name}" for name in params.objectives)] if params.audit.errors else []
    rows = [] if of == "cells" else list(_stitched_controls(params))  # of controls those that are stitched are rows
    controls = [name for name in params.controls if name not in rows]
    samples = [f"{name}samples" for name in ("", "unstitched_", "own_", *(f"{name}_" for name in controls))]
    return [*_NUMBERS, *controls, *ranks, *scores, *errors, *samples, *(indices if of == "cells" else ())]


def _unmeasured(params: Params, place: str, of: str, column: str) -> Iterator[ParamsError]:
    """Whether the column is called after a variant which the study does not have."""
    name = column.removeprefix("receiver_")
    if of in ("cells", "controls") and name.startswith("error") and not params.audit.errors:
        yield ParamsError(f"{place}: {column} is not measured; set audit.errors to true")
        return
    if name.startswith("auroc_"):
        name = name.removeprefix("auroc_").removesuffix("_low").removesuffix("_high")
        families = ["detectors"]
    else:
        families = [family for family, table in _NAMED.items() if kind_of(name) in table]
    for family in families:
        there = getattr(params, family)
        if name not in there:
            yield ParamsError(f"{place}: {name} is not defined in {family}; {choices(name, there)}")
    if not families and of != "trials" and column not in (columns := measured(params, of)):
        yield ParamsError(f"{place}: {column} is no number of {of}; {choices(column, columns)}")
