"""A model's plan, and the networks trained by it."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from pipeline import paths
from pipeline.arrays import Labels
from pipeline.atomic import digest
from pipeline.errors import DataError
from pipeline.models import ARCHITECTURES
from pipeline.models.base import Architecture
from pipeline.norms import expect
from pipeline.params import BaseRecipe
from pipeline.prepared import SplitData
from pipeline.registry import build_kind, typed
from pipeline.weights import initialise, load_weights, read

TEST_BATCH = 512


@dataclass(frozen=True)
class Plan:
    """All that decides what a model's networks become, but for their seeds; written by the `plan` stage."""

    model: str
    architecture: dict[str, Any]
    code: str  # digest of the code that the architecture is made of
    dataset: str
    data: str  # digest of the prepared dataset
    shape: tuple[int, int, int]
    classes: int
    recipe: BaseRecipe
    weights: str
    weights_file: str | None  # digest of the file, where weights come from one

    @property
    def function(self) -> str:
        """Digest of what it does with weights and inputs, behind its last cut as well, where no store shows it."""
        return digest(self.architecture, self.code)

    def variant(self) -> Architecture:
        return build_kind(f"models.{self.model}.architecture", ARCHITECTURES, self.architecture)

    def network(self, seed: int) -> nn.Module:
        """A freshly initialised network."""
        return initialise(self.variant(), self.shape, self.classes, seed)


def read_plan(model: str) -> Plan:
    path = paths.plan(model)
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; run dvc repro") from error
    return typed(str(path), Plan, document)


def read_network(model: str, seed: int, device: torch.device, recalibrated: str = "") -> nn.Module:
    """The trained network, frozen and in eval mode; `recalibrated` names a dataset its BatchNorms are to expect."""
    network = read_plan(model).network(0)  # the seed does not matter: every weight is replaced
    load_weights(network, paths.network(model, seed) / "weights.safetensors")
    if recalibrated:
        expect(network, read(paths.statistics(model, seed, recalibrated)))
    return network.requires_grad_(False).eval().to(device)


def accuracy(network: nn.Module, data: SplitData, device: torch.device) -> float:
    return float((answers(network, data, device) == data.labels).mean())


@torch.inference_mode()
def answers(network: nn.Module, data: SplitData, device: torch.device) -> Labels:
    """The classes that the network gives."""
    parts = [slice(start, start + TEST_BATCH) for start in range(0, len(data), TEST_BATCH)]
    return np.concatenate([network(data.batch(part, device)).argmax(1).cpu().numpy() for part in parts])
