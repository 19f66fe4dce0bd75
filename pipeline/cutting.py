"""A model and a cut → front and tail; and which cuts are legal.

A model is traced once with torch.fx. A cut is legal where one tensor alone crosses it: without that
node, the output could not be reached from the input::

    input ─ conv1 ─ bn1 ─┬─ conv ─ bn ─ add ─ relu ─ fc        legal: conv1, bn1, add, relu, fc
                         └─────────────┘                       not:   conv, bn (the skip goes round)

The front ends with the cut's node and the tail begins after it, each a module without the dead half.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from io import StringIO

import torch
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from pipeline.arrays import Shape
from pipeline.errors import ModelError, choices
from pipeline.tracing import trace

INPUT = "input"
PROBE = 2  # batch size of the shape probe; a tensor whose first axis is not this is not a batch


@dataclass(frozen=True)
class Cut:
    name: str
    aliases: tuple[str, ...]  # the same tensor under its other names: layer2 is layer2.1 is its last relu
    shape: Shape  # without the batch axis

    @property
    def size(self) -> int:
        """Numbers a sample."""
        return int(torch.Size(self.shape).numel())

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def called(self, name: str) -> "Cut":
        """The same cut under another of its names."""
        return replace(self, name=name, aliases=tuple(other for other in self.names if other != name))


def matches(name: str, pattern: str) -> bool:
    """Whether each part of `name` between dots matches that of `pattern`: blocks.* is no blocks.0.add."""
    parts, wanted = name.split("."), pattern.split(".")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


class Cuttable:
    """A traced model: its legal cuts in order, and the fronts, tails and taps they allow."""

    def __init__(self, model: nn.Module, shape: Shape) -> None:
        untouched = copy.deepcopy(model).eval()
        self._module, names = trace(model)
        _probe(self._module, untouched, shape)
        self._shape = shape
        self._nodes: dict[str, fx.Node] = {INPUT: _input(self._module.graph)}
        self._names = {name for found in names.values() for name in found}
        self.cuts: tuple[Cut, ...] = tuple(self._legal_cuts(names))

    def _legal_cuts(self, names: dict[str, list[str]]) -> Iterator[Cut]:
        for node in _gateways(self._module.graph):
            shape = _batch_shape(node)
            if shape is not None and node.name in names:
                name, *aliases = sorted(names[node.name], key=lambda name: (name.count("."), len(name)))
                self._nodes.update(dict.fromkeys(names[node.name], node))
                yield Cut(name, tuple(aliases), shape)

    def select(self, where: str, patterns: Sequence[str]) -> tuple[Cut, ...]:
        """The cuts that the patterns name, as they name them, in the model's own order.

        A pattern may be meant for other models; where none of them names a cut of this one, the first is refused.
        """
        named: dict[Cut, Cut] = {}
        for pattern in patterns:
            for cut, name in self._found(pattern):
                named.setdefault(cut, cut.called(name))
        if not named:
            wrong = f"none of {', '.join(patterns)} is" if len(patterns) > 1 else f"{patterns[0]} is not"
            raise ModelError(f"{where}: {wrong} a legal cut; {self._nearest(patterns[0])}")
        return tuple(named[cut] for cut in self.cuts if cut in named)

    def strange(self, where: str, patterns: Sequence[str]) -> dict[str, str]:
        """Of each pattern that names no cut of this model, what is wrong with it."""
        return {
            pattern: f"{where}: {pattern} is not a legal cut; {self._nearest(pattern)}"
            for pattern in patterns
            if not self._found(pattern)
        }

    def _found(self, pattern: str) -> list[tuple[Cut, str]]:
        return [(cut, name) for cut in self.cuts for name in cut.names if matches(name, pattern)]

    def _nearest(self, pattern: str) -> str:
        crossed = any(matches(name, pattern) for name in self._names)
        reason = "more than one tensor crosses there; " if crossed else ""
        return reason + choices(pattern, {name for cut in self.cuts for name in cut.names})

    def cut(self, name: str) -> Cut:
        """By any of its names; `input` is the model's input, whose tail is all of it."""
        if name == INPUT:
            return Cut(INPUT, (), self._shape)
        return next(cut.called(name) for cut in self.cuts if name in cut.names)

    def front(self, cut: Cut) -> fx.GraphModule:
        """inputs → the tensor at `cut`."""
        return self._part(None, [self._nodes[cut.name]])

    def tail(self, cut: Cut) -> fx.GraphModule:
        """the tensor at `cut` → the model's output."""
        return self._part(self._nodes[cut.name], [_output(self._module.graph)])

    def taps(self, cuts: Sequence[Cut]) -> fx.GraphModule:
        """inputs → the tensors at all of `cuts` in one pass, and last the model's output."""
        return self._part(None, [*(self._nodes[cut.name] for cut in cuts), _output(self._module.graph)], many=True)

    def between(self, cut: Cut, end: Cut) -> fx.GraphModule | None:
        """the tensor at `cut` → the tensor at `end`; None where that does not follow from this one."""
        start, last = self._nodes[cut.name], self._nodes[end.name]
        if start is last or any(node.op == "placeholder" for node in _needed([last], start) - {start}):
            return None
        return self._part(start, [last])

    def first_layer(self, cut: Cut) -> fx.GraphModule:
        """the tensor at `cut` → the output of the first convolution or linear layer after it.

        At the model's very end there is none after it, and the tensor itself comes back.
        """
        start, nodes = self._nodes[cut.name], list(self._module.graph.nodes)
        for node in nodes[nodes.index(start) + 1 :]:
            if node.op == "call_module" and isinstance(self._module.get_submodule(str(node.target)), _LAYERS):
                return self._part(start, [node])
        return self._part(start, [start])

    def _part(self, start: fx.Node | None, ends: Sequence[fx.Node], many: bool = False) -> fx.GraphModule:
        needed = _needed(ends, start)
        graph, copies = fx.Graph(), dict[fx.Node, fx.Node]()
        if start is not None:
            copies[start] = graph.placeholder("activations")
        for node in self._module.graph.nodes:
            if node in needed and node is not start:
                copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output(tuple(copies[end] for end in ends) if many else copies[ends[0]])
        graph.lint()
        return fx.GraphModule(self._module, graph).eval()


_LAYERS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)


def _probe(module: fx.GraphModule, untouched: nn.Module, shape: Shape) -> None:
    """Leaves every node's shape in its `meta`; refuses a graph that does not do what the model does."""
    inputs = torch.rand(PROBE, *shape, generator=torch.Generator().manual_seed(0)) - 0.5
    with torch.inference_mode():
        try:
            with redirect_stderr(StringIO()):  # torch.fx prints the traceback of what is one line here
                found = ShapeProp(module).propagate(inputs.clone())
        except RuntimeError as error:
            reason = str(error.__cause__ or error).strip().splitlines()[0]
            raise ModelError(f"the model: does not take inputs of {'x'.join(map(str, shape))}: {reason}") from error
        wanted = untouched.cpu()(inputs)
    if isinstance(found, torch.Tensor) and not torch.equal(found, wanted):
        raise ModelError(
            f"{type(untouched).__name__}: its graph gives another answer than the model; it should not write over "
            "tensors that it reads again, nor draw at random"
        )


def _gateways(graph: fx.Graph) -> Iterator[fx.Node]:
    """The nodes that every path from the input to the output goes through, in order."""
    start, end = _input(graph), _output(graph)
    for node in graph.nodes:
        if (
            node.op not in ("placeholder", "get_attr", "output")
            and start not in _needed([end], node)
            and (start in _needed([node], None))
        ):
            yield node


def _needed(ends: Iterable[fx.Node], stop: fx.Node | None) -> set[fx.Node]:
    """`ends` and all that they are computed from, going no further back than `stop`."""
    found: set[fx.Node] = set()
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend([] if node is stop else node.all_input_nodes)
    return found


def _input(graph: fx.Graph) -> fx.Node:
    return next(node for node in graph.nodes if node.op == "placeholder")


def _output(graph: fx.Graph) -> fx.Node:
    """The node whose value the model returns."""
    value = next(node for node in reversed(graph.nodes) if node.op == "output").args[0]
    if not isinstance(value, fx.Node):
        raise ModelError("the model: returns several values; it should return one tensor of logits")
    return value


def _batch_shape(node: fx.Node) -> Shape | None:
    meta = node.meta.get("tensor_meta")
    shape = getattr(meta, "shape", None)
    if shape is None or len(shape) < 2 or shape[0] != PROBE:
        return None
    return tuple(shape[1:])
