"""Whether a study has what its claims and published numbers are of, asked before it runs."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.controls import CONTROLS
from pipeline.controls.base import Control
from pipeline.errors import ParamsError, PipelineError, choices
from pipeline.naming import kind_of
from pipeline.params import Params
from pipeline.published import protocol, read
from pipeline.ranks import RANKS
from pipeline.registry import lookup
from pipeline.similarity import INDICES

_NAMED = {"controls": CONTROLS, "ranks": RANKS, "similarity": INDICES}  # families whose variants name columns


def unfounded(params: Params) -> Iterator[PipelineError]:
    """What claims and published numbers rest on that this study does not have."""
    names = {
        "sender": params.senders, "receiver": params.receivers, "objective": params.objectives, "model": params.models,
        "other_model": params.models, "seed": params.seeds, "other_seed": params.seeds, "trial": params.trials,
    }  # fmt: skip
    for number, claim in enumerate(params.claims):
        known_here = names | ({"sender": list(_stitched_controls(params))} if claim.of == "controls" else {})
        for key, column in (("measure", claim.measure), ("minus", claim.minus or "")):
            yield from _unmeasured(params, f"claims[{number}].{key}", claim.of, column)
        for part, wanted in (("where", claim.where), ("than", claim.than or {})):
            for key, values in wanted.items():
                for value in values if isinstance(values, list) else [values]:
                    if key in known_here and value not in known_here[key]:
                        known = choices(str(value), map(str, known_here[key]))
                        yield ParamsError(f"claims[{number}].{part}.{key}: {value} is not defined; {known}")
    if params.published is not None:
        try:
            read(params.root, params.published)
            protocol(params.root, params.published, Path.cwd().name)
        except PipelineError as error:
            yield error


def _stitched_controls(params: Params) -> Iterator[str]:
    """Those that have cells; a probe has none."""
    for name in params.controls if params.stitch.pairs != "input" else ():
        if kind_of(name) in CONTROLS and issubclass(lookup("controls", CONTROLS, kind_of(name)), Control):
            yield name


def _unmeasured(params: Params, place: str, of: str, column: str) -> Iterator[ParamsError]:
    """Whether the column is called after a variant which the study does not have."""
    name = column.removeprefix("receiver_")
    if of in ("cells", "controls") and name.startswith("error") and not params.audit.errors:
        yield ParamsError(f"{place}: {column} is not measured; set audit.errors to true")
    if name.startswith("auroc_"):
        name = name.removeprefix("auroc_").removesuffix("_low").removesuffix("_high")
        families = ["detectors"]
    else:
        families = [family for family, table in _NAMED.items() if kind_of(name) in table]
    for family in families:
        there = getattr(params, family)
        if name not in there:
            yield ParamsError(f"{place}: {name} is not defined in {family}; {choices(name, there)}")
