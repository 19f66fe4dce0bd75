"""Whose statistics the BatchNorms of a frozen network go by.

eval          those it learnt on its own data
recalibrated  those of the data at hand: one pass, every batch weighing by its size
batch         those of each batch while a stitch is trained, and their running mean when it is tested
"""

import copy
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Module = TypeVar("Module", bound=nn.Module)
_STATISTICS = ("running_mean", "running_var")
_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


def norms(module: nn.Module) -> dict[str, _BatchNorm]:
    """The BatchNorms that keep statistics, by name."""
    found = {name: part for name, part in module.named_modules() if isinstance(part, _BatchNorm)}
    return {name: part for name, part in found.items() if part.track_running_stats}


@torch.no_grad()
def recalibrated(network: Module, batches: Iterable[Tensor]) -> Module:
    """A copy in eval mode whose BatchNorms expect what these inputs give, all of them weighing alike.

    Layer statistics are those of the batch while the pass goes on, as in training, and are averaged over it: so
    the later layers see the earlier ones normalised.
    """
    network = copy.deepcopy(network).eval()
    found = norms(network)
    if not found:
        return network
    momenta = [norm.momentum for norm in found.values()]
    counts = [copy.deepcopy(norm.num_batches_tracked) for norm in found.values()]
    for norm in found.values():
        norm.train().reset_running_stats()
    seen = 0
    for inputs in batches:
        seen += len(inputs)
        for norm in found.values():
            norm.momentum = len(inputs) / seen  # a running mean over samples, whatever the size of the last batch
        network(inputs)
    for norm, momentum, batches_seen in zip(found.values(), momenta, counts, strict=True):
        norm.momentum = momentum
        norm.num_batches_tracked = batches_seen  # of training; two networks are one if their statistics are
    return network.eval()


def statistics(module: nn.Module, prefix: str = "") -> dict[str, Tensor]:
    """What the BatchNorms expect, by name."""
    return {
        f"{prefix}{name}.{kind}": getattr(norm, kind) for name, norm in norms(module).items() for kind in _STATISTICS
    }


def expect(module: nn.Module, found: dict[str, Tensor], prefix: str = "") -> None:
    """Puts statistics back where `statistics` took them."""
    with torch.no_grad():
        for name, tensor in statistics(module, prefix).items():
            tensor.copy_(found[name])


def live(module: Module, batch_statistics: bool, dropout: bool) -> Module:
    """`module` as it is while a stitch beside it is trained: frozen, but for what is asked for here."""
    module.eval()
    for norm in norms(module).values() if batch_statistics else ():
        norm.train()
    for part in module.modules():
        if dropout and isinstance(part, _DROPOUTS):
            part.train()
    return module
