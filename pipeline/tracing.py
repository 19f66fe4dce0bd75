"""A model → its graph, without in-place operations, and the names that its nodes go by."""

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx, nn

from pipeline.errors import ModelError


def trace(model: nn.Module) -> tuple[fx.GraphModule, dict[str, list[str]]]:
    """`model` as a graph without in-place operations, and the names of its nodes."""
    tracer = _Tracer()
    try:
        graph = tracer.trace(model.eval())
    except Exception as error:  # fx raises whatever the model's own code raises on a proxy
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{type(model).__name__}: cannot be traced: {reason}; control flow must not depend on values"
        ) from error
    names = {node.name: found for node, found in tracer.names.items()}
    module = fx.GraphModule(model, graph)
    _forbid_in_place(module)
    return module.eval(), names


class _Tracer(fx.Tracer):
    """Records under which names each node goes: the modules whose output it is, outermost first."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[fx.Node, list[str]] = {}
        self._taken: dict[str, int] = {}

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        value = super().call_module(m, forward, args, kwargs)
        if isinstance(value, fx.Proxy):
            self._name(value.node, self.path_of_module(m))
        return value

    def create_node(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        node = super().create_node(kind, target, *args, **kwargs)
        if kind in ("call_function", "call_method"):
            inside = next(reversed(self.module_stack.values()))[0] if self.module_stack else ""
            self._name(node, ".".join(filter(None, [inside, getattr(target, "__name__", str(target))])))
        return node

    def _name(self, node: fx.Node, path: str) -> None:
        count = self._taken[path] = self._taken.get(path, -1) + 1
        self.names.setdefault(node, []).append(f"{path}_{count}" if count else path)


_OUT_OF_PLACE = {getattr(operator, f"i{name}"): getattr(operator, name) for name in ("add", "sub", "mul", "truediv")}


def _forbid_in_place(module: fx.GraphModule) -> None:
    """Every in-place operation replaced by its twin: ReLU(inplace) would rewrite the tensor captured before it."""
    rewritten: set[str] = set()
    for name, part in module.named_modules():
        if getattr(part, "inplace", False):
            part.inplace = False  # type: ignore[assignment]
            rewritten.add(name)
    for node in module.graph.nodes:
        if _made_out_of_place(node, rewritten):
            _rewire(node)
    module.recompile()


def _made_out_of_place(node: fx.Node, rewritten: set[str]) -> bool:
    """Whether `node` wrote over its first argument and no longer does."""
    before = (node.target, node.kwargs)
    if node.kwargs.get("inplace"):
        node.kwargs = {**node.kwargs, "inplace": False}
    if node.op == "call_function":
        node.target = _out_of_place(node.target)
    if node.op == "call_method" and str(node.target).endswith("_") and not str(node.target).endswith("__"):
        node.target = str(node.target).removesuffix("_")
    return (node.target, node.kwargs) != before or (node.op == "call_module" and node.target in rewritten)


def _rewire(node: fx.Node) -> None:
    """Lets all that comes after `node` see its value where it would have seen its argument written over."""
    argument, later = node.args[0], set(_after(node))
    if isinstance(argument, fx.Node):
        argument.replace_all_uses_with(node, delete_user_cb=lambda user: user in later)


def _after(node: fx.Node) -> Iterator[fx.Node]:
    while (node := node.next).op != "root":
        yield node


def _out_of_place(function: Any) -> Any:
    if function in _OUT_OF_PLACE:
        return _OUT_OF_PLACE[function]
    name = getattr(function, "__name__", "")
    if name.endswith("_") and not name.endswith("__"):
        for home in (torch, nn.functional):
            if hasattr(home, name.removesuffix("_")):
                return getattr(home, name.removesuffix("_"))
    return function
