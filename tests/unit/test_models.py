"""Architectures: what they build, what they refuse, and that they can be traced."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx, nn

from pipeline.errors import ModelError, ParamsError
from pipeline.models import ARCHITECTURES
from pipeline.registry import build

RESNET = {"blocks": [1, 1], "width": 4, "stem": "cifar"}
LENET = {"channels": [6, 16], "hidden": [120, 84]}
VIT = {"patch": 4, "depth": 2, "heads": 2, "dim": 8}
AUTOENCODER = {"channels": [4, 6], "hidden": 16, "bottleneck": 5, "widths": [3, 2]}
EACH = [
    ("autoencoder", AUTOENCODER, (1, 16, 16)),
    ("lenet", LENET, (1, 28, 28)),
    ("small_resnet", RESNET, (3, 16, 16)),
    ("small_resnet", {**RESNET, "stem": "imagenet"}, (1, 32, 32)),
    ("small_vgg", {"depth": 11, "width": 2}, (1, 32, 32)),
    ("timm_model", {"name": "test_vit", "options": {"img_size": 32, "dynamic_img_size": False}}, (1, 32, 32)),
    ("timm_model", {"name": "resnet18", "options": {}}, (1, 28, 28)),
    ("torchvision_model", {"name": "shufflenet_v2_x0_5", "options": {}}, (3, 32, 32)),
    ("torchvision_model", {"name": "vit_b_32", "options": {"dropout": 0.1}}, (3, 64, 64)),
    ("vit_tiny", VIT, (1, 16, 16)),
]
TWO_LAYERS = """
from torch import nn
def mine(shape, classes, hidden):
    size = shape[0] * shape[1] * shape[2]
    return nn.Sequential(nn.Flatten(), nn.Linear(size, hidden), nn.Linear(hidden, classes))
"""


def built(kind: str, options: dict[str, Any], shape: tuple[int, ...] = (3, 32, 32), classes: int = 10) -> nn.Module:
    return build("architectures.it", ARCHITECTURES, kind, options).build(shape, classes)


def children(network: nn.Module) -> list[str]:
    return [name for name, _ in network.named_children()]


def study_file(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, text: str) -> None:
    (folder / "code").mkdir()
    (folder / f"code/{name}.py").write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(("kind", "options", "shape"), EACH)
def test_every_architecture_gives_a_logit_for_each_class(kind, options, shape):
    if kind == "timm_model":
        pytest.importorskip("timm", reason="the timm extra is not installed")

    logits = built(kind, options, shape, classes=7).eval()(torch.zeros(2, *shape))

    assert logits.shape == (2, 7)


@pytest.mark.parametrize(("kind", "options", "shape"), EACH)
def test_every_architecture_can_be_traced_and_computes_the_same_as_a_graph(kind, options, shape):
    if kind == "timm_model":
        pytest.importorskip("timm", reason="the timm extra is not installed")
    network = built(kind, options, shape).eval()
    images = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))

    graph = fx.GraphModule(network, fx.Tracer().trace(network))

    torch.testing.assert_close(graph(images), network(images), rtol=0, atol=0)


def test_every_name_in_the_table_is_the_name_of_its_file():
    for name, place in ARCHITECTURES.items():
        assert place.startswith(f"pipeline.models.{name}:")


def test_resnets_call_their_children_as_torchvision_does():
    network = built("small_resnet", {"blocks": [1, 2, 1], "width": 4, "stem": "imagenet"})

    assert " ".join(children(network)) == "conv1 bn1 relu maxpool layer1 layer2 layer3 avgpool flatten fc"
    assert " ".join(children(network.get_submodule("layer2.0"))) == "conv1 bn1 relu conv2 bn2 downsample"
    assert " ".join(children(network.get_submodule("layer2.1"))) == "conv1 bn1 relu conv2 bn2"


def test_a_resnet_for_cifar_keeps_the_resolution_through_its_stem_and_halves_it_each_stage():
    network = built("small_resnet", {"blocks": [1, 1, 1], "width": 4, "stem": "cifar"}).eval()
    assert isinstance(network, nn.Sequential)
    shapes, x = {}, torch.zeros(1, 3, 32, 32)
    for name, child in network.named_children():
        x = child(x)
        shapes[name] = tuple(x.shape[1:])

    assert "maxpool" not in shapes
    assert [shapes[name] for name in ("relu", "layer1", "layer2", "layer3", "avgpool", "flatten")] == [
        (4, 32, 32), (4, 32, 32), (8, 16, 16), (16, 8, 8), (16, 1, 1), (16,),
    ]  # fmt: skip


def test_convolutions_of_resnets_begin_with_kaimings_deviation_by_fan_out():
    torch.manual_seed(0)
    network = built("small_resnet", {"blocks": [1, 1], "width": 32, "stem": "cifar"})

    for name, fan_out in (("conv1", 32 * 9), ("layer2.0.conv1", 64 * 9), ("layer2.0.downsample.0", 64)):
        weight = network.get_parameter(f"{name}.weight")
        assert weight.std().item() == pytest.approx(math.sqrt(2 / fan_out), rel=0.06)


def test_vision_transformers_begin_with_the_deviation_of_timms_default_and_without_biases():
    torch.manual_seed(0)
    network = built("vit_tiny", {**VIT, "dim": 32})

    assert network.get_parameter("pos_embed").std().item() == pytest.approx(0.02, rel=0.1)
    for name in ("blocks.0.attn.qkv", "blocks.1.mlp.fc2", "head"):
        assert network.get_parameter(f"{name}.weight").std().item() == pytest.approx(0.02, rel=0.1)
        assert not network.get_parameter(f"{name}.bias").any()


def test_lenet_calls_its_children_so_that_cuts_read_as_in_the_paper():
    names = " ".join(children(built("lenet", LENET, (1, 28, 28))))

    assert names == "conv1 relu1 pool1 conv2 relu2 pool2 flatten fc1 relu3 fc2 relu4 fc3"


def test_lenet_takes_images_down_to_its_smallest_and_no_smaller():
    assert built("lenet", LENET, (2, 12, 13))(torch.zeros(1, 2, 12, 13)).shape == (1, 10)
    with pytest.raises(ModelError, match=r"^lenet: images are 11 x 12; they should be 12 x 12 or more$"):
        built("lenet", LENET, (1, 11, 12))


def test_blocks_of_a_vision_transformer_are_numbered_modules():
    network = built("vit_tiny", {**VIT, "depth": 12})

    assert children(network.get_submodule("blocks")) == [str(number) for number in range(12)]


def test_a_vision_transformer_tells_places_apart_and_patches_from_their_mirror():
    torch.manual_seed(0)
    network = built("vit_tiny", VIT, (1, 16, 16)).eval()
    image = torch.randn(1, 1, 16, 16)

    moved = network(torch.roll(image, 4, dims=3))

    assert (network(image) - moved).abs().max() > 1e-4


def test_a_vision_transformer_refuses_images_that_do_not_divide_into_patches():
    with pytest.raises(ModelError, match=r"^vit_tiny: images of 28 x 30 do not divide into patches of 4; patch should"):
        built("vit_tiny", VIT, (1, 28, 30))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("small_resnet", {**RESNET, "blocks": []}, r"blocks: is \[\]; it should name 1 or more"),
        ("small_resnet", {**RESNET, "blocks": [1, 0]}, r"blocks: is \[1, 0\]; it should name 1 or more"),
        ("small_resnet", {**RESNET, "width": 0}, "width: is 0; it should be 1 or more"),
        ("small_resnet", {**RESNET, "stem": "cifer"}, "stem: cifer is not a known value; did you mean cifar"),
        ("small_vgg", {"depth": 12, "width": 2}, r"depth: 12 is not a known value; choose from 11, 13, 16, 19"),
        ("small_vgg", {"depth": 11, "width": 0}, r"width: is 0; it should be 1 or more"),
        ("lenet", {**LENET, "channels": [0, 16]}, r"channels: is \[0, 16\]; each should be 1 or more"),
        ("lenet", {**LENET, "hidden": [120, -1]}, r"hidden: is \[120, -1\]; each should be 1 or more"),
        ("autoencoder", {**AUTOENCODER, "channels": [8, 0]}, r"channels: is \[8, 0\]; each should be 1 or more"),
        ("autoencoder", {**AUTOENCODER, "bottleneck": 0}, "bottleneck: is 0; it should be 1 or more"),
        ("autoencoder", {**AUTOENCODER, "widths": [4, 0]}, r"widths: is \[4, 0\]; each should be 1 or more"),
        ("vit_tiny", {**VIT, "patch": 0}, "patch: is 0; it should be 1 or more"),
        ("vit_tiny", {**VIT, "heads": 3}, "dim: is 8; it should be a multiple of the 3 heads"),
        ("torchvision_model", {"name": "resnet81", "options": {}}, "name: resnet81 is not .*did you mean resnet1"),
        ("torchvision_model", {"name": "resnet18", "options": {"num_classes": 3}}, "options: has num_classes, which"),
        ("user", {"function": "nets.py", "options": {}}, "function: is nets.py; it should be module:function"),
        ("user", {"function": "nets:make", "options": {"shape": 3}}, "options: has shape, which the dataset sets"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_at_their_place(kind, options, message):
    with pytest.raises(ParamsError, match=rf"^architectures\.it\.{message}"):
        built(kind, options)


def test_torchvision_networks_refuse_images_without_three_channels():
    with pytest.raises(ModelError, match=r"^torchvision_model resnet18: images have 1 channels; it takes images of 3"):
        built("torchvision_model", {"name": "resnet18", "options": {}}, (1, 28, 28))


def test_options_reach_torchvisions_constructor():
    network = built("torchvision_model", {"name": "squeezenet1_1", "options": {"dropout": 0.25}})

    assert [part.p for part in network.modules() if isinstance(part, nn.Dropout)] == [0.25]


def test_options_that_torchvisions_constructor_does_not_know_are_refused_in_one_line():
    with pytest.raises(ModelError, match=r"^torchvision_model resnet18: cannot be built .*'drop'; its options should"):
        built("torchvision_model", {"name": "resnet18", "options": {"drop": 0.1}})


@pytest.mark.parametrize("name", ["vit_b_16", "maxvit_t"])
def test_networks_made_for_one_size_of_images_refuse_sizes_that_do_not_fit(name):
    with pytest.raises(ModelError, match=rf"^torchvision_model {name}: cannot be built for 30 x 30 images: "):
        built("torchvision_model", {"name": name, "options": {}}, (3, 30, 30))


def test_torchvisions_vision_transformers_take_square_images_alone():
    with pytest.raises(ModelError, match=r"^torchvision_model vit_b_16: images are 32 x 64; they should be square$"):
        built("torchvision_model", {"name": "vit_b_16", "options": {}}, (3, 32, 64))


def test_torchvision_networks_with_auxiliary_heads_give_one_tensor_even_while_they_learn():
    network = built("torchvision_model", {"name": "googlenet", "options": {}}).train()

    assert isinstance(network(torch.zeros(2, 3, 64, 64)), torch.Tensor)


def test_a_users_network_is_found_in_the_studys_folder_and_given_its_options(monkeypatch, tmp_path):
    study_file(monkeypatch, tmp_path, "my_nets", TWO_LAYERS)

    network = built("user", {"function": "my_nets:mine", "options": {"hidden": 5}}, (2, 3, 4))

    assert [tuple(weight.shape) for weight in network.parameters()] == [(5, 24), (5,), (10, 5), (10,)]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("no_nets:mine", {}, r"^no_nets: no such module; put no_nets\.py into the study's folder code$"),
        ("no.nets:mine", {}, r"^no\.nets: no such module; put no/nets\.py into"),
        ("bad_nets:mind", {}, r"^bad_nets:mind: there is no function mind in bad_nets; did you mean mine\?$"),
        ("bad_nets:NUMBER", {}, r"^bad_nets:NUMBER: there is no function NUMBER in bad_nets; "),
        ("bad_nets:mine", {}, r"^bad_nets:mine: returned a str; it should return an nn\.Module$"),
        ("bad_nets:mine", {"deep": 1}, r"^bad_nets:mine: .*'deep'; it should take shape, classes, deep as keywords$"),
    ],
)
def test_a_users_network_that_cannot_be_made_is_refused_in_one_line(monkeypatch, tmp_path, function, options, message):
    study_file(monkeypatch, tmp_path, "bad_nets", "NUMBER = 3\ndef mine(shape, classes):\n    return 'a network'\n")

    with pytest.raises(ModelError, match=message):
        built("user", {"function": function, "options": options})


def test_what_a_users_file_itself_cannot_import_keeps_its_traceback(monkeypatch, tmp_path):
    study_file(monkeypatch, tmp_path, "needy_nets", "import not_installed_anywhere\n")

    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        built("user", {"function": "needy_nets:mine", "options": {}})


def test_timm_when_absent_says_which_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)

    with pytest.raises(ModelError, match=r"^timm_model: timm is not installed; pip install 'backstitch\[timm\]'$"):
        built("timm_model", {"name": "resnet18", "options": {}})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("vit_tiny_patch16_242", {}, r"name: vit_tiny_patch16_242 is not a timm model; did you mean vit_tiny_patch16_"),
        ("??", {}, r"name: \?\? is not a timm model; timm\.list_models\(\) names them$"),
        ("resnet18", {"in_chans": 1}, "options: has in_chans, which the study sets; it should be left out"),
    ],
)
def test_timm_models_refuse_names_and_options_that_cannot_be_meant(name, options, message):
    pytest.importorskip("timm", reason="the timm extra is not installed")

    with pytest.raises(ParamsError, match=rf"^architectures\.it\.{message}"):
        built("timm_model", {"name": name, "options": options})


def test_options_that_timms_constructor_does_not_know_are_refused_in_one_line():
    pytest.importorskip("timm", reason="the timm extra is not installed")

    with pytest.raises(ModelError, match=r"^timm_model resnet18: cannot be built: .*'wide'; its options should be"):
        built("timm_model", {"name": "resnet18", "options": {"wide": 2}})
