from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu

from pipeline.arrays import Activations, Shape
from pipeline.detectors.base import Detector, Fitted, Setting, State, energies, energy, require
from pipeline.detectors.networks import Flat, Maps, Tokens
from pipeline.randomness import seeded
from pipeline.separation import Scores


@final
@dataclass(frozen=True)
class Energy(Detector):
    """The energy of a network that learns from activations what is in distribution (Balogh and Jelasity 2025).

    It learns the labels of the receiver's own activations, and then, with a fresh optimiser, to keep their energies
    below one margin and those of auxiliary activations above another (Liu et al. 2020).

    The paper's settings: margins -25 and -7, weight 0.1, temperature 1; maps resized to 32 and the CIFAR ResNet-18,
    blocks [2, 2, 2, 2] of width 64; ViT-Ti's 12 blocks of 3 heads. Pre-training is Adam at 1e-3 with weight decay
    1e-5 and batches of 64 (the default of its code), 100 epochs; fine-tuning Adam at 1e-3 for 10 or 20 epochs, where
    the code's scheduler steps with every batch, so that after some ten of them the rate is 1e-4 to the end.
    It has no flat layers, and augments its images, which stored activations cannot be.
    """

    pretraining: str  # a name in `recipes`
    finetuning: str  # a name in `recipes`, whose batches are half auxiliary
    margin_inside: float  # own energies below it cost nothing
    margin_outside: float  # auxiliary energies above it cost nothing
    weight: float  # of what the margins cost, beside the cross-entropy
    temperature: float
    maps: Maps
    tokens: Tokens
    flat: Flat

    def __post_init__(self) -> None:
        require(
            self.margin_inside <= self.margin_outside,
            f"margin_inside: is {self.margin_inside:g}; it should be {self.margin_outside:g} or less, margin_outside",
        )
        require(self.weight >= 0, f"weight: is {self.weight:g}; it should be 0 or more")
        require(self.temperature > 0, f"temperature: is {self.temperature:g}; it should be above 0")

    @property
    def recipes(self) -> tuple[str, ...]:
        return self.pretraining, self.finetuning

    @property
    def auxiliary(self) -> bool:
        return True

    def fit(self, setting: Setting) -> "FittedEnergy":
        network = self._network(setting).train()
        setting.descend(network, lambda x, labels: cross_entropy(network(x), labels), "own", self.pretraining)
        setting.descend(network, lambda x, labels: self.loss(network(x), labels), "mixed", self.finetuning)
        return FittedEnergy(network.eval(), self.temperature, setting.device)

    def load(self, setting: Setting, state: State) -> "FittedEnergy":
        network = self._network(setting)
        network.load_state_dict(state)
        return FittedEnergy(network.eval(), self.temperature, setting.device)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of the own, and the weighted mean squares by which either side is beyond its margin."""
        own, found = labels >= 0, energy(logits, self.temperature)
        above = relu(found[own] - self.margin_inside).square().mean()
        below = relu(self.margin_outside - found[~own]).square().mean()
        return cross_entropy(logits[own], labels[own]) + self.weight * (above + below)

    def _network(self, setting: Setting) -> nn.Module:
        with seeded(setting.seed):
            return self._built(setting.rows.shape[1:], setting.classes).to(setting.device)

    def _built(self, shape: Shape, classes: int) -> nn.Module:
        """By a cut's axes: C H W of maps, T D of tokens, D of flat layers."""
        if len(shape) == 3:
            return self.maps.build(shape[0], classes)
        return (self.tokens if len(shape) == 2 else self.flat).build(shape[-1], classes)


@dataclass(frozen=True)
class FittedEnergy(Fitted):
    network: nn.Module
    temperature: float
    device: torch.device

    def scores(self, rows: Activations) -> Scores:
        return energies(self.network, rows, self.temperature, self.device)

    def state(self) -> dict[str, Tensor]:
        return {name: tensor.cpu().contiguous().clone() for name, tensor in self.network.state_dict().items()}
