"""Weights of networks: kept as safetensors, read from others' files, found by what a study calls them.

Nothing here runs code out of a file: what is not tensors alone is refused.
"""

import hashlib
import http.client
import pickle
import re
import shutil
import urllib.request
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as safetensors_bytes
from torch import Tensor, nn

from pipeline.atomic import file_digest, replacing
from pipeline.errors import ModelError, choices
from pipeline.models.base import Architecture
from pipeline.randomness import seeded

Weights = Mapping[str, Tensor]
OWN = ("trained", "random")  # what a study calls weights that come from no file
SUFFIXES = (".safetensors", ".pth", ".pt")
SILENCE = 30.0  # seconds after which a download that says nothing has failed
_ENTRY = re.compile(r"\w+_Weights\.(?!(safetensors|pth|pt)$)\w+")
_AUXILIARY = ("aux1.", "aux2.", "AuxLogits.")  # heads that some networks have only while they learn


def initialise(architecture: Architecture, shape: tuple[int, int, int], classes: int, seed: int) -> nn.Module:
    """The network as `seed` initialises it, known to take such images and to tell so many classes apart."""
    with seeded(seed):
        network = architecture.build(shape, classes)
        _check_output(network, shape, classes)  # inside: a lazy layer draws its weights here
    return network


def _check_output(network: nn.Module, shape: tuple[int, int, int], classes: int) -> None:
    where, size, training = type(network).__name__, " x ".join(map(str, shape)), network.training
    try:
        with torch.no_grad():
            output = network.eval()(torch.zeros(1, *shape))
    except Exception as error:  # whatever the network's own code raises
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{where}: does not take images of {size}: {reason}; choose a model that does") from error
    network.train(training)
    if not isinstance(output, Tensor) or output.shape != (1, classes):
        got = list(output.shape) if isinstance(output, Tensor) else f"a {type(output).__name__}"
        raise ModelError(f"{where}: gives {got} for an image; it should give [1, {classes}], a logit for each class")


def state(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name: the network's own tensors, not copies."""
    found = network.state_dict()
    for name, value in found.items():
        if not isinstance(value, Tensor):
            raise ModelError(f"{type(network).__name__}.{name}: is not a tensor; it should be kept in a buffer")
    return found


def weights_digest(network: nn.Module) -> str:
    """SHA-256 over the names, types, shapes and bytes of all parameters and buffers."""
    total = hashlib.sha256()
    for name, tensor in sorted(state(network).items()):
        total.update(repr((name, str(tensor.dtype), tuple(tensor.shape))).encode())
        total.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def save_weights(network: nn.Module, path: Path) -> None:
    """Write one safetensors file, whole or not at all; equal weights give equal bytes."""
    # Copies, since safetensors takes no two names for one tensor.
    save_tensors({name: tensor.cpu().contiguous().clone() for name, tensor in state(network).items()}, path)


def save_tensors(tensors: Weights, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(safetensors_bytes(dict(tensors)))


def load_weights(network: nn.Module, path: Path) -> None:
    """Put the weights in `path` into `network`, all of them and no other."""
    install(network, read(path), str(path))


def read(path: Path) -> dict[str, Tensor]:
    """The tensors in a file, by name."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file; put the weights there")
    if path.suffix not in SUFFIXES:
        raise ModelError(f"{path}: is not a known kind of file; it should end in {', '.join(SUFFIXES)}")
    if path.suffix != ".safetensors":
        return _only_tensors(path, _unpickled(path))
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ModelError(f"{path}: is not a whole safetensors file: {error}; write or fetch it again") from error


def _unpickled(path: Path) -> object:
    try:
        with warnings.catch_warnings(action="ignore"):  # of pickles it may not read; whether it did is told below
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path}: holds more than tensors, and code from a file is never run; "
            "it should be made by torch.save(network.state_dict(), path)"
        ) from error
    except Exception as error:  # a damaged file fails in as many ways as there are bytes
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"{path}: cannot be read: {reason}; write or fetch it again") from error


def _only_tensors(path: Path, document: object) -> dict[str, Tensor]:
    found = document.get("state_dict", document) if isinstance(document, Mapping) else None
    if not isinstance(found, Mapping) or not all(isinstance(value, Tensor) for value in found.values()):
        held = ", ".join(map(str, found)) if isinstance(found, Mapping) else f"a {type(document).__name__}"
        raise ModelError(f"{path}: holds {held}; it should hold tensors by name, there or under the key state_dict")
    return {str(name): value for name, value in found.items()}


def install(network: nn.Module, weights: Weights, where: str) -> None:
    """Copy `weights`, which come from `where`, into `network`; every tensor must be there and fit."""
    own = state(network)
    given = _aligned(own, weights)
    _compare(where, type(network).__name__, own, given)
    if _ENTRY.fullmatch(where) and getattr(network, "transform_input", True) is False:
        raise ModelError(f"{where}: was trained with transform_input; set options: {{transform_input: true}}")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(given[name])


def _aligned(own: Weights, weights: Weights) -> dict[str, Tensor]:
    """`weights` without DataParallel's prefix, and with the counters that batch norms once lacked."""
    wrapped = all(name.startswith("module.") for name in weights)
    if wrapped and not all(name.startswith("module.") for name in own):
        weights = {name.removeprefix("module."): tensor for name, tensor in weights.items()}
    counters = {name: torch.zeros_like(own[name]) for name in own if name.endswith(".num_batches_tracked")}
    return {**counters, **weights}


def _compare(where: str, model: str, own: Weights, given: Weights) -> None:
    for name, tensor in own.items():
        if name not in given:
            raise ModelError(f"{where}: lacks {name}; {model} expects it as {_described(tensor)}")
    for name in given:
        if name not in own:
            raise ModelError(f"{where}: has {name}, which {model} has not; it should hold {model}'s {len(own)} tensors")
    last = [name.rpartition(".")[0] for name in own][-1:]
    for name, tensor in own.items():
        found = given[name]
        if found.shape == tensor.shape and found.is_floating_point() == tensor.is_floating_point():
            continue
        counts = found.shape != tensor.shape and found.dim() and found.shape[1:] == tensor.shape[1:]
        if counts and name.rpartition(".")[0] in last:
            raise ModelError(f"{where}: tells {len(found)} classes apart ({name}); the dataset has {len(tensor)}")
        raise ModelError(f"{where}: {name} is {_described(found)}; {model} expects {_described(tensor)}")


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def fetch(spec: str, root: Path) -> dict[str, Tensor] | None:
    """The weights that a study calls `spec`; None for `trained` and `random`, which come from no file."""
    if spec in OWN:
        return None
    return pretrained(spec, root) if _ENTRY.fullmatch(spec) else read(_below(root, spec))


def missing(spec: str, root: Path, download: bool = False) -> Iterable[str]:
    """What `fetch` would want and cannot find, or may not download; a sentence each."""
    try:
        if _ENTRY.fullmatch(spec):
            if _local(_address(spec), root) is None and not download:
                yield _wanted(spec, root)
        elif spec not in OWN and not _below(root, spec).is_file():
            yield f"{_below(root, spec)}: no such file; put the weights there"
    except ModelError as error:
        yield str(error)


def _below(root: Path, spec: str) -> Path:
    path = PurePosixPath(spec)
    if path.suffix not in SUFFIXES:
        known = f"{', '.join(OWN)}, a file ({', '.join(SUFFIXES)}), or torchvision's NAME_Weights.ENTRY"
        raise ModelError(f"{spec}: is not known; choose from {known}")
    if path.is_absolute() or ".." in path.parts:
        raise ModelError(f"{spec}: leaves the data root; it should be a path below {root}")
    return root / path


def pretrained(name: str, root: Path) -> dict[str, Tensor]:
    """Weights that torchvision publishes: from ``weights/`` below `root`, torch hub's cache, or its site."""
    path = _local(_address(name), root) or _download(name, root)
    tensors = {key: tensor for key, tensor in read(path).items() if not key.startswith(_AUXILIARY)}
    if name.startswith("DenseNet"):  # files older than the names of DenseNet's layers
        tensors = {re.sub(r"\.(norm|conv)\.(\d)\.", r".\1\2.", key): tensor for key, tensor in tensors.items()}
    return tensors


def _address(name: str) -> str:
    from torchvision import models as zoo

    models = zoo.list_models(module=zoo)
    known = {str(entry): str(entry.url) for model in models for entry in zoo.get_model_weights(model)}
    if name not in known:
        raise ModelError(f"{name}: is not an entry of torchvision; {choices(name, known)}")
    return known[name]


def _places(url: str, root: Path) -> tuple[Path, Path]:
    filename = url.rpartition("/")[2]
    return root / "weights" / filename, Path(torch.hub.get_dir()) / "checkpoints" / filename


def _local(url: str, root: Path) -> Path | None:
    for path in _places(url, root):
        if path.is_file():
            _check_hash(path, path)
            return path
    return None


def _check_hash(path: Path, named: Path) -> None:
    """File names of torchvision's end in the beginning of their SHA-256."""
    prefix = named.stem.rpartition("-")[2]
    if not file_digest(path).startswith(prefix):
        raise ModelError(f"{named}: is not the published file, whose SHA-256 begins with {prefix}; fetch it again")


def _wanted(name: str, root: Path) -> str:
    url = _address(name)
    first, second = _places(url, root)
    return f"{name}: is not here; put {url} in {first.parent} or in {second.parent}"


def _download(name: str, root: Path) -> Path:
    path = _places(_address(name), root)[0]
    try:
        with urllib.request.urlopen(_address(name), timeout=SILENCE) as source, replacing(path) as part:
            with part.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            _check_hash(part, path)
    except (OSError, http.client.HTTPException) as error:
        raise ModelError(f"{_wanted(name, root)}; fetching it failed: {error}") from error
    return path
