"""Cuts are exact: the front's tensor through the tail is the model's own answer, bit for bit."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torchvision
from torch import Tensor, nn

from pipeline.cutting import Cuttable
from pipeline.errors import ModelError
from pipeline.models.lenet import LeNet
from pipeline.models.small_resnet import SmallResNet
from pipeline.models.vit_tiny import ViTTiny

MODELS = {
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), (3, 28, 28)),
    "resnet50": (lambda: torchvision.models.resnet50(num_classes=10), (3, 32, 32)),
    "vgg19": (lambda: torchvision.models.vgg19(num_classes=10), (3, 32, 32)),
    "lenet": (lambda: LeNet((6, 16), (120, 84)).build((1, 28, 28), 10), (1, 28, 28)),
    "small_resnet": (lambda: SmallResNet((1, 2, 1, 1), 16, "cifar").build((3, 16, 16), 10), (3, 16, 16)),
    "vit_tiny": (lambda: ViTTiny(4, 12, 3, 192).build((3, 32, 32), 10), (3, 32, 32)),
}


def made(name: str) -> tuple[nn.Module, Cuttable, Tensor]:
    build, shape = MODELS[name]
    torch.manual_seed(0)
    model = build().eval()
    for part in model.modules():  # as if trained: fresh statistics would hide a norm left out
        if isinstance(part, nn.BatchNorm2d) and part.running_mean is not None and part.running_var is not None:
            nn.init.normal_(part.running_mean)
            nn.init.uniform_(part.running_var, 0.5, 2)
    return model, Cuttable(model, shape), torch.randn(3, *shape)


@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_tail_of_front_is_the_model_at_every_legal_cut(name: str) -> None:
    model, cuttable, inputs = made(name)
    answer = model(inputs)
    *tapped, output = cuttable.taps(cuttable.cuts)(inputs)

    assert torch.equal(output, answer)
    for cut, activations in zip(cuttable.cuts, tapped, strict=True):
        assert torch.equal(cuttable.front(cut)(inputs), activations)
        assert activations.shape[1:] == cut.shape
        assert torch.equal(cuttable.tail(cut)(activations), answer), cut


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("resnet18", "layer?", ["layer1", "layer2", "layer3", "layer4"]),
        ("resnet18", "layer?.?", [f"layer{k}.{j}" for k in (1, 2, 3, 4) for j in (0, 1)]),
        ("resnet18", "layer4.1.relu_1", ["layer4.1.relu_1"]),
        ("vgg19", "features.8", ["features.8"]),
        ("vit_tiny", "blocks.*", [f"blocks.{k}" for k in range(12)]),
    ],
)
def test_patterns_select_in_the_models_own_order_and_under_their_own_names(
    name: str, pattern: str, expected: list[str]
) -> None:
    _, cuttable, _ = made(name)

    cuts = cuttable.select("extract.cuts", [pattern])

    assert [cut.name for cut in cuts] == expected


def test_a_cut_is_the_same_under_each_of_its_names() -> None:
    _, cuttable, inputs = made("resnet18")

    fronts = [cuttable.front(cuttable.cut(name)) for name in ("layer2", "layer2.1", "layer2.1.relu_1")]

    assert all(torch.equal(front(inputs), fronts[0](inputs)) for front in fronts)


def hooked(model: nn.Module, name: str, inputs: Tensor) -> Tensor:
    """What the module itself returns, copied before anything can write to it."""
    found: list[Tensor] = []
    handle = model.get_submodule(name).register_forward_hook(lambda *a: found.append(a[2].clone()))
    with torch.inference_mode():
        model(inputs)
    handle.remove()
    return found[0]


@pytest.mark.parametrize(("name", "layer"), [("vgg19", "features.0"), ("vgg19", "features.34"), ("resnet18", "bn1")])
def test_an_in_place_relu_behind_a_layer_does_not_rewrite_what_is_captured(name: str, layer: str) -> None:
    build, shape = MODELS[name]
    torch.manual_seed(0)
    model, inputs = build().eval(), torch.randn(3, *shape)
    wanted = hooked(model, layer, inputs)  # before tracing, with its in-place operations
    cuttable = Cuttable(model, shape)

    with torch.inference_mode():
        captured, _ = cuttable.taps([cuttable.cut(layer)])(inputs)

    assert wanted.min() < 0
    assert torch.equal(captured, wanted)


class InPlaceFunctions(nn.Module):
    """Writes over its tensors in all the ways there are."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        y = torch.relu_(x)
        y += 1
        y = nn.functional.relu(self.second(y), inplace=True)
        return y.mul_(2)


class WrittenOver(nn.Module):
    """Reads a tensor again after it was written over."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.first, self.last, self.relu, self.way = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(inplace=True), way

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        y = x
        if self.way == "function":
            y = nn.functional.relu(x, inplace=True)
        elif self.way == "method":
            x.relu_()
        elif self.way == "module":
            self.relu(x)
        elif self.way == "operator":
            y += 1
        return self.last(x + y)


@pytest.mark.parametrize(
    "build",
    [InPlaceFunctions, *(partial(WrittenOver, way) for way in ("function", "method", "module"))],
    ids=["functions", "function", "method", "module"],
)
def test_what_writes_over_a_tensor_neither_rewrites_what_is_captured_nor_moves_the_answer(
    build: Callable[[], nn.Module],
) -> None:
    torch.manual_seed(0)
    model, inputs = build().eval(), torch.randn(5, 4)
    answer, wanted = model(inputs), hooked(model, "first", inputs)
    cuttable = Cuttable(model, (4,))

    with torch.inference_mode():
        captured, output = cuttable.taps([cuttable.cut("first")])(inputs)

    assert wanted.min() < 0
    assert torch.equal(captured, wanted)
    assert torch.equal(output, answer)


class Viewed(nn.Module):
    """Writes over a view, which no rewiring of one tensor can follow."""

    def forward(self, x: Tensor) -> Tensor:
        x = x * 2
        x[:, 0].relu_()
        return x


@pytest.mark.parametrize("model", [Viewed(), WrittenOver("operator")], ids=["view", "operator"])
def test_a_graph_that_answers_otherwise_than_its_model_is_refused(model: nn.Module) -> None:
    with pytest.raises(ModelError, match="its graph gives another answer than the model; it should not write over"):
        Cuttable(model, (4,))


def test_inside_a_residual_block_no_cut_is_legal() -> None:
    _, cuttable, _ = made("resnet18")

    with pytest.raises(ModelError, match=r"extract.cuts: layer1\.0\.conv1 is not a legal cut; more than one tensor"):
        cuttable.select("extract.cuts", ["layer1.0.conv1"])


def test_an_unknown_cut_is_refused_with_the_nearest() -> None:
    _, cuttable, _ = made("resnet18")

    with pytest.raises(ModelError, match=r"extract.cuts: layr1 is not a legal cut; did you mean layer1"):
        cuttable.select("extract.cuts", ["layr1"])


def test_where_no_pattern_names_a_cut_all_are_named() -> None:
    _, cuttable, _ = made("resnet18")

    with pytest.raises(ModelError, match=r"extract.cuts: none of layr1, conv9 is a legal cut; did you mean layer1"):
        cuttable.select("extract.cuts", ["layr1", "conv9"])


def test_inputs_that_a_model_does_not_take_are_refused_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match="the model: does not take inputs of 5: ") as refusal:
        Cuttable(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (5,))

    assert "\n" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("cut", "layer"),
    [("maxpool", "layer1.0.conv1"), ("layer2", "layer3.0.conv1"), ("avgpool", "fc"), ("conv1", "layer1.0.conv1")],
)
def test_the_first_layer_after_a_cut_is_the_receivers_own(cut: str, layer: str) -> None:
    model, cuttable, inputs = made("resnet18")
    wanted = hooked(model, layer, inputs)

    with torch.inference_mode():
        found = cuttable.first_layer(cuttable.cut(cut))(cuttable.front(cuttable.cut(cut))(inputs))

    assert torch.equal(found, wanted)


class Undecided(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Twofold(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


def test_control_flow_on_values_is_refused() -> None:
    with pytest.raises(ModelError, match=r"Undecided: cannot be traced: .*; control flow must not depend on values"):
        Cuttable(Undecided(), (4,))


def test_several_outputs_are_refused() -> None:
    with pytest.raises(ModelError, match="returns several values; it should return one tensor of logits"):
        Cuttable(Twofold(), (4,))


def test_inputs_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ModelError, match="does not take inputs of 3x2x2"):
        Cuttable(torchvision.models.vgg11(num_classes=2), (3, 2, 2))
