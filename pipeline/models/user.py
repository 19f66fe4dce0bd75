"""A network of the user's own, made by a function in a file of the study's folder ``code``."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from torch import nn

from pipeline.errors import ModelError, choices
from pipeline.models.base import Architecture

_TAKEN = ("shape", "classes")


@final
@dataclass(frozen=True)
class User(Architecture):
    """The function is called with shape=(C, H, W), classes=K and the options, and returns the network."""

    function: str  # module:function
    options: dict[str, Any]  # further keywords of the function

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", self.function):
            raise ValueError(f"function: is {self.function}; it should be module:function")
        for key in _TAKEN:
            if key in self.options:
                raise ValueError(f"options: has {key}, which the dataset sets; it should be left out")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        function = _find(self.function)
        keywords = {"shape": shape, "classes": classes, **self.options}
        _check_keywords(self.function, function, keywords)
        network = function(**keywords)
        if not isinstance(network, nn.Module):
            raise ModelError(f"{self.function}: returned a {type(network).__name__}; it should return an nn.Module")
        return network


def _find(place: str) -> Callable[..., object]:
    module, _, name = place.partition(":")
    found = getattr(_import(module), name, None)
    if not callable(found):
        known = (key for key, value in vars(_import(module)).items() if callable(value) and not key.startswith("_"))
        raise ModelError(f"{place}: there is no function {name} in {module}; {choices(name, known)}")
    return found


def _import(module: str) -> Any:
    study = str(Path.cwd() / "code")
    if study not in sys.path:
        sys.path.insert(0, study)  # it stays: worker processes inherit the path and unpickle the network by its class
    try:
        return importlib.import_module(module)
    except SyntaxError as error:
        raise ModelError(f"{module}: is not Python at line {error.lineno}: {error.msg}; mend that line") from error
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the user's file imports what is not installed: the traceback says where
        raise ModelError(
            f"{module}: no such module; put {module.replace('.', '/')}.py into the study's folder code"
        ) from error


def _check_keywords(place: str, function: Callable[..., object], keywords: dict[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**keywords)
    except TypeError as error:
        raise ModelError(f"{place}: {error}; it should take {', '.join(keywords)} as keywords") from error
