"""An autoencoder for small images, with a classifier of what it paints (Smith et al. 2025, B.3)."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from pipeline.errors import ModelError
from pipeline.models.base import Architecture
from pipeline.models.lenet import LeNet


@final
@dataclass(frozen=True)
class Autoencoder(Architecture):
    """Convolutions with ReLU and max pooling, linear layers down to the bottleneck, and the same back.

    The paper gives the bottleneck, 128, and no other size. What it shows in pictures is told here in numbers too:
    a `judge`, a LeNet-like classifier of real images that learns beside and shares nothing with the rest, says what
    digit has been painted. So the network as a whole is a classifier, and its cuts are `encoder` and `decoder`.
    """

    channels: tuple[int, int]
    hidden: int
    bottleneck: int
    image: ClassVar = "decoder"

    def __post_init__(self) -> None:
        for name, size in (("channels", min(self.channels)), ("hidden", self.hidden), ("bottleneck", self.bottleneck)):
            if size < 1:
                raise ValueError(f"{name}: is {getattr(self, name)}; it should be 1 or more")

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
        small = (second, height // 4, width // 4)
        numbers = small[0] * small[1] * small[2]
        self.encoder = nn.Sequential(
            nn.Conv2d(images, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(numbers, options.hidden), nn.ReLU(), nn.Linear(options.hidden, options.bottleneck),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(options.bottleneck, options.hidden), nn.ReLU(), nn.Linear(options.hidden, numbers), nn.ReLU(),
            nn.Unflatten(1, small), nn.Upsample(scale_factor=2), nn.Conv2d(second, first, 3, padding=1), nn.ReLU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(first, images, 3, padding=1),
        )  # fmt: skip
        self.judge = LeNet(channels=(6, 16), hidden=(120, 84)).build(shape, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.judge(self.decoder(self.encoder(inputs)))
