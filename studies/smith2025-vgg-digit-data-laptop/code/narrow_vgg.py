"""VGG19 with fewer channels, and its modules called as torchvision calls them."""

from torch import nn
from torchvision.models import VGG
from torchvision.models.vgg import cfgs, make_layers


def build(shape: tuple[int, int, int], classes: int, divisor: int) -> nn.Module:
    """Without BatchNorm; every width is torchvision's over `divisor`."""
    widths = [size if isinstance(size, str) else size // divisor for size in cfgs["E"]]
    network = VGG(make_layers(widths), num_classes=classes)
    last = 512 // divisor
    hidden = 4096 // divisor
    network.classifier = nn.Sequential(
        nn.Linear(last * 49, hidden), nn.ReLU(), nn.Dropout(),
        nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(),
        nn.Linear(hidden, classes),
    )  # fmt: skip
    return network
