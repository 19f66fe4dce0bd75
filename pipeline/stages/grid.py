"""Which cells there are: every pair of cuts by every objective, and which of them are made together."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pipeline.atomic import digest
from pipeline.cutting import INPUT
from pipeline.errors import ParamsError, StoreError
from pipeline.imports import closure, code_digest
from pipeline.networks import read_plan
from pipeline.objectives import OBJECTIVES
from pipeline.params import Params
from pipeline.registry import module_of
from pipeline.stages.cells import Cell, kept, opened, painter
from pipeline.stages.joints import problem
from pipeline.stitches import STITCHES
from pipeline.store import Store

AnyCell = TypeVar("AnyCell", bound=Cell)


def cells(params: Params, sender: str, receiver: str, seed: int) -> list[Cell]:
    """All cells of the pair, in the order of cuts, then objectives; each known to be joinable."""
    options = params.stitch
    given = opened(sender, seed, options.data, kept(options.sender_bn))
    taken = opened(receiver, seed, options.towards, kept(options.receiver_bn))
    digests = [given.digest, taken.digest, read_plan(receiver).function]
    origins = {name: origin(digests, options.map, name) for name in params.objectives}
    pairs = matched(given, taken, options.pairs)
    return [known(Cell(**facts)) for facts in planned(params, sender, receiver, seed, pairs, origins)]


def planned(
    params: Params, sender: str, receiver: str, seed: int, pairs: Sequence[tuple[str, str]], origins: dict[str, str]
) -> list[dict[str, Any]]:
    """The fields of a cell for every pair of cuts and every objective that has an origin."""
    options = {name: params.stitching(name) for name in origins}
    memory = int(params.machine.memory_gb * 1e9 / params.machine.slots / 2)
    return [
        {
            "sender": sender, "receiver": receiver, "seed": seed, "data": params.stitch.data,
            "sender_cut": source, "receiver_cut": target,
            "map": params.stitch.map, "map_options": params.stitches[params.stitch.map],
            "objective": name, "objective_options": params.objectives[name], "options": options[name],
            "root_seed": params.seed, "device": params.machine.device, "memory": memory, "origin": found,
        }
        for source, target in pairs for name, found in origins.items()
    ]  # fmt: skip


def known(cell: AnyCell) -> AnyCell:
    """`cell`, if its stitch can be built and its objective has what it needs."""
    objective = cell.built_objective()
    if wrong := problem(objective, cell.stitch(), 2 * cell.memory):
        pair = f"{cell.sender}/{cell.sender_cut} to {cell.receiver}/{cell.receiver_cut}"
        raise ParamsError(f"objectives.{cell.objective}: {pair}: {wrong}")
    if objective.paired and not cell.paired():
        raise ParamsError(
            f"objectives.{cell.objective}: needs the receiver's activations on the sender's samples; "
            f"set stitch.towards to {cell.data}, or leave it out"
        )
    if objective.paints and painter(cell) is None:
        raise ParamsError(
            f"objectives.{cell.objective}: {cell.receiver} makes no image after {cell.receiver_cut}; "
            "it should be an autoencoder, cut before its decoder's end"
        )
    return cell


def origin(digests: Sequence[str], kind: str, objective: str, *more: str) -> str:
    """Digest of what is stitched (so of the weights), of what to, and of the code of a cell's numbers."""
    modules = [
        "pipeline.stages.making",
        module_of(STITCHES, kind),
        module_of(OBJECTIVES, objective),
        *more,
    ]
    return digest(list(digests), code_digest(closure(*modules)))


def matched(sender: Store, receiver: Store, pairs: str) -> Sequence[tuple[str, str]]:
    """Pairs of a sender's cut and a receiver's."""
    if sender.identity.dataset == receiver.identity.dataset:
        for field in ("inputs", "samples"):
            receiver.expect(**{field: getattr(sender.identity, field)})
    if pairs == "input":
        return [(source, INPUT) for source in sender.cuts]
    if pairs == "all":
        return [(source, target) for source in sender.cuts for target in receiver.cuts]
    same = [(cut, cut) for cut in sender.cuts if cut in receiver.cuts]
    if not same:
        raise StoreError(f"{sender.folder}: has no cut of the name of one of {receiver.folder}; use stitch.pairs: all")
    return same


def groups(tasks: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that share a factorisation together: those of one sender's cut that are found in closed form."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in tasks:
        alone = () if cell.built_objective().closed else (cell.receiver_cut,)
        found.setdefault((cell.sender, cell.sender_cut, cell.objective, *alone), []).append(cell)
    return list(found.values())
