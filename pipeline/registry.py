"""From a name and options in params.yaml to a variant of a family.

A family's table maps each name to ``module:Class``, so that reading a table imports no variant:
a stage pays only for the one it builds.
"""

import importlib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pipeline.errors import ParamsError, choices, near
from pipeline.naming import kind_of

Table = Mapping[str, str]
T = TypeVar("T")


def module_of(table: Table, name: str) -> str:
    """The module of the variant that a name in params stands for."""
    return table[kind_of(name)].partition(":")[0]


def lookup(where: str, table: Table, name: object) -> type:
    """The class that `table` lists under `name`."""
    if not isinstance(name, str) or name not in table:
        raise ParamsError(f"{where}: {name} is not a known name; {choices(str(name), table)}")
    module, _, cls = table[name].partition(":")
    return getattr(importlib.import_module(module), cls)


def build(where: str, table: Table, name: object, options: object) -> Any:
    """The variant `name` of a family with `options` as its fields; `where` is its place in params."""
    return typed(where, lookup(where, table, kind_of(name) if isinstance(name, str) else name), options, table)


def build_kind(where: str, table: Table, entry: object) -> Any:
    """The variant that `entry` names under ``kind``, with the rest of the entry as its options."""
    if not isinstance(entry, Mapping) or "kind" not in entry:
        raise ParamsError(f"{where}: has no kind; choose from {', '.join(sorted(table))}")
    options = {key: value for key, value in entry.items() if key != "kind"}
    kind = entry["kind"]
    return typed(where, lookup(f"{where}.kind", table, kind), options, table)


def typed(where: str, cls: type[T], options: object, table: Table | None = None) -> T:
    """`options` as an instance of the dataclass `cls`; unknown, missing and mistyped keys refused, a line each."""
    if not isinstance(options, Mapping):
        raise ParamsError(f"{where}: is {options!r}; it should be a block of {_names(cls) or 'nothing: {}'}")
    hints = typing.get_type_hints(cls)
    known = {field.name for field in fields(typing.cast(Any, cls)) if field.init}
    wrong = [f"{where}.{key}: not a known key; {choices(str(key), known)}" for key in options if key not in known]
    meant = {name for key in options if key not in known for name in near(str(key), known)}
    lacking = sorted(known - set(options) - meant)  # a key that was misspelt is not told of twice
    wrong += [f"{where}.{key}: is missing; it should be {_describe(hints[key])}" for key in lacking]
    values = {}
    for key in (key for key in options if key in known):
        try:
            values[key] = _convert(f"{where}.{key}", hints[key], options[key], table)
        except ParamsError as error:
            wrong.append(str(error))
    if wrong:
        raise ParamsError("\n".join(wrong))
    try:
        return cls(**values)
    except ValueError as error:  # a range check in __post_init__, which begins with the field's name
        raise ParamsError(f"{where}.{error}") from error


def _convert(where: str, kind: Any, value: Any, table: Table | None) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(where, kind, value, table)
    if origin is typing.Literal:
        if value in args and type(value) is type(args[args.index(value)]):
            return value
        raise ParamsError(f"{where}: {value} is not a known value; {choices(str(value), map(str, args))}")
    if origin is tuple and isinstance(value, (list, tuple)):
        return _convert_tuple(where, kind, value, table)
    if origin is dict and isinstance(value, Mapping):
        return _convert_dict(where, args[1], value, table)
    if is_dataclass(kind) and not isinstance(value, typing.cast(type, kind)):
        return typed(where, typing.cast(type, kind), value)
    if table is not None and isinstance(kind, type) and isinstance(value, Mapping):
        return build_kind(where, table, value)  # a variant inside a variant: a dataset's source
    if kind is float and type(value) is int:
        return float(value)
    if kind is Any or (
        isinstance(kind, type) and isinstance(value, kind) and (kind is bool or type(value) is not bool)
    ):
        return value
    raise ParamsError(f"{where}: is {value!r}; it should be {_describe(kind)}")


def _convert_dict(where: str, kind: Any, value: Mapping[Any, Any], table: Table | None) -> dict[str, Any]:
    found, wrong = {}, list[str]()
    for key, item in value.items():
        try:
            found[str(key)] = _convert(f"{where}.{key}", kind, item, table)
        except ParamsError as error:
            wrong.append(str(error))
    if wrong:
        raise ParamsError("\n".join(wrong))
    return found


def _convert_union(where: str, kind: Any, value: Any, table: Table | None) -> Any:
    blocks = [option for option in typing.get_args(kind) if is_dataclass(option)]
    if blocks and isinstance(value, Mapping):  # its own refusal says more than that of the union
        return _convert(where, blocks[0], value, table)
    for option in typing.get_args(kind):
        try:
            return _convert(where, option, value, table)
        except ParamsError:
            continue
    raise ParamsError(f"{where}: is {value!r}; it should be {_describe(kind)}")


def _convert_tuple(where: str, kind: Any, value: Any, table: Table | None) -> tuple[Any, ...]:
    args = typing.get_args(kind)
    inner = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
    if len(inner) != len(value):
        raise ParamsError(f"{where}: has {len(value)} entries; it should have {len(inner)}")
    return tuple(_convert(f"{where}[{i}]", t, v, table) for i, (t, v) in enumerate(zip(inner, value, strict=True)))


_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false", types.NoneType: "null"}


def _describe(kind: Any) -> str:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_describe, args))
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, args))
    if origin is tuple:
        return f"a list, each {_describe(args[0])}"
    if origin is dict:
        return "a block of named entries"
    if is_dataclass(kind):
        return f"a block of {_names(kind)}"
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)} with its kind")


def _names(cls: Any) -> str:
    return ", ".join(field.name for field in fields(cls) if field.init)
