"""An autoencoder for small images, with a classifier of what it paints (Smith et al. 2025, B.3)."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, final

from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from pipeline.errors import ModelError
from pipeline.models.base import Architecture
from pipeline.models.lenet import LeNet


@final
@dataclass(frozen=True)
class Autoencoder(Architecture):
    """That of the paper's code: convolutions in twos and linear layers to a code behind a BatchNorm, and a way back.

    Pixels come out of a sigmoid, so they should go in between 0 and 1. What the paper shows in pictures is told here
    in numbers too: a `judge`, a LeNet-like classifier of real images that learns beside and shares nothing with the
    rest, says what digit has been painted. So the network as a whole is a classifier, and its cuts are `encoder` and
    `decoder`.
    """

    channels: tuple[int, int]  # of the first two convolutions and of the second two; 256 and 512 in the paper's code
    hidden: int  # of the linear layers next to the code; 512 there
    bottleneck: int
    widths: tuple[int, ...]  # of the decoder's linear layers behind, in channels of the smallest maps; 32, 32, 32, 256
    image: ClassVar = "decoder"

    def __post_init__(self) -> None:
        for name in ("hidden", "bottleneck"):
            if (size := getattr(self, name)) < 1:
                raise ValueError(f"{name}: is {size}; it should be 1 or more")
        for name, sizes in (("channels", self.channels), ("widths", self.widths)):
            if min(sizes, default=1) < 1:
                raise ValueError(f"{name}: is {list(sizes)}; each should be 1 or more")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        if shape[1] % 4 or shape[2] % 4:
            raise ModelError(f"autoencoder: images are {shape[1]} x {shape[2]}; each side should be a multiple of 4")
        return Network(self, shape, classes)

    def loss(self, network: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
        """Squared error of what is painted; the judge learns from the images themselves."""
        assert isinstance(network, Network)
        painted = network.decoder(network.encoder(inputs))
        return mse_loss(painted, inputs) + cross_entropy(network.judge(inputs), labels)


class Network(nn.Module):
    """Images → what the judge takes their reconstructions for."""

    def __init__(self, options: Autoencoder, shape: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        images, height, width = shape
        first, second = options.channels
        places = (height // 4) * (width // 4)
        self.encoder = nn.Sequential(
            *_twice(images, first), nn.MaxPool2d(2), *_twice(first, second), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(second * places, options.hidden), nn.ReLU(),
            nn.Linear(options.hidden, options.bottleneck), nn.BatchNorm1d(options.bottleneck),
        )  # fmt: skip
        sizes = [options.bottleneck, options.hidden, *(places * width for width in (*options.widths, second))]
        self.decoder = nn.Sequential(
            *(part for pair in pairwise(sizes) for part in (nn.Linear(*pair), nn.ReLU())),
            nn.Unflatten(1, (second, height // 4, width // 4)),
            *_doubled(second), nn.Conv2d(second, first, 3, padding=1), nn.ReLU(),
            *_doubled(first), nn.Conv2d(first, images, 3, padding=1), nn.Sigmoid(),
        )  # fmt: skip
        self.judge = LeNet(channels=(6, 16), hidden=(120, 84)).build(shape, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.judge(self.decoder(self.encoder(inputs)))


def _twice(before: int, after: int) -> list[nn.Module]:
    return [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.Conv2d(after, after, 3, padding=1), nn.ReLU()]


def _doubled(channels: int) -> list[nn.Module]:
    """Maps of twice the side."""
    return [nn.ConvTranspose2d(channels, channels, 2, stride=2), nn.ReLU()]
