"""Weights: written, read, compared, found; and nothing else let in."""

import hashlib
import io
import os
import pickle
import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torchvision import models as zoo

from pipeline import weights
from pipeline.errors import ModelError
from pipeline.models.base import Architecture

SHAPE = (1, 4, 4)
ENTRY = "Small_Weights.V1"


@dataclass(frozen=True)
class Made(Architecture):
    """Any network, as an architecture."""

    network: type[nn.Module]

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        return self.network()


class Small(nn.Sequential):
    """A buffer, a counter and two layers with weights."""

    def __init__(self, classes: int = 3) -> None:
        layers = [("conv", nn.Conv2d(1, 2, 3)), ("bn", nn.BatchNorm2d(2)), ("flatten", nn.Flatten())]
        super().__init__(OrderedDict([*layers, ("fc", nn.Linear(8, classes))]))


class Failing(Small):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        raise RuntimeError("the sizes\n do not fit")


class Lazy(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Flatten(), nn.LazyLinear(3))


class Talkative(Small):
    def get_extra_state(self) -> object:
        return {"epoch": 3}

    def set_extra_state(self, state: object) -> None:
        pass


class Paired(Small):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return x, x


def initialised(seed: int = 0, network: type[nn.Module] = Small) -> nn.Module:
    return weights.initialise(Made(network), SHAPE, 3, seed)


def same(one: nn.Module, other: nn.Module) -> bool:
    tensors = zip(weights.state(one).values(), weights.state(other).values(), strict=True)
    return all(torch.equal(ours, theirs) for ours, theirs in tensors)


def hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    monkeypatch.setenv("TORCH_HOME", str(folder / "torch"))
    return folder / "torch" / "hub" / "checkpoints"


def publish(monkeypatch: pytest.MonkeyPatch, folder: Path, tensors: dict[str, Tensor] | None = None) -> Path:
    """A file of weights at an address of its own, with the beginning of its hash in its name."""
    buffer = io.BytesIO()
    torch.save(tensors or weights.state(initialised(5)), buffer)
    name = f"small-{hashlib.sha256(buffer.getvalue()).hexdigest()[:8]}.pth"
    (folder / "site").mkdir()
    (folder / "site" / name).write_bytes(buffer.getvalue())
    monkeypatch.setattr(weights, "_address", lambda _: (folder / "site" / name).as_uri())
    return folder / "site" / name


def test_the_seed_alone_decides_the_initial_weights():
    torch.manual_seed(99)
    before = torch.get_rng_state()

    assert same(initialised(7), initialised(7))
    assert not same(initialised(7), initialised(8))
    assert torch.equal(torch.get_rng_state(), before)


def test_lazy_layers_too_are_initialised_by_the_seed():
    assert same(initialised(7, Lazy), initialised(7, Lazy))


def test_a_new_network_is_ready_to_learn_and_its_statistics_are_untouched():
    network = initialised()

    assert network.training
    assert network.get_buffer("bn.num_batches_tracked") == 0
    assert torch.equal(network.get_buffer("bn.running_mean"), torch.zeros(2))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (Failing, r"^Failing: does not take images of 1 x 4 x 4: the sizes do not fit; choose a model that does$"),
        (Paired, r"^Paired: gives a tuple for an image; it should give \[1, 3\], a logit for each class$"),
        (nn.Flatten, r"^Flatten: gives \[1, 16\] for an image; it should give \[1, 3\], a logit for each class$"),
    ],
)
def test_a_network_that_gives_no_logits_for_such_images_is_refused(network, message):
    with pytest.raises(ModelError, match=message):
        initialised(0, network)


def test_saved_weights_come_back_with_the_same_digest(tmp_path):
    network, other = initialised(1), initialised(2)
    network(torch.randn(5, *SHAPE))  # moves the running statistics
    weights.save_weights(network, tmp_path / "w.safetensors")

    weights.load_weights(other, tmp_path / "w.safetensors")

    assert other.get_buffer("bn.num_batches_tracked") == 1
    assert weights.weights_digest(other) == weights.weights_digest(network)


def test_equal_weights_give_equal_bytes_whatever_their_layout_in_memory(tmp_path):
    network, other = initialised(1), initialised(1).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    weights.save_weights(network, tmp_path / "one.safetensors")
    weights.save_weights(other, tmp_path / "other.safetensors")

    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "other.safetensors").read_bytes()
    assert weights.weights_digest(network) == weights.weights_digest(other)


def test_shared_weights_can_be_saved(tmp_path):
    network, other = initialised(1), initialised(2)
    for tied in (network, other):
        tied.register_parameter("again", tied.get_parameter("fc.weight"))
    weights.save_weights(network, tmp_path / "w.safetensors")

    weights.load_weights(other, tmp_path / "w.safetensors")

    assert same(network, other)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    weights.save_weights(initialised(1), path)
    before = path.read_bytes()
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))

    with pytest.raises(OSError, match="the disk is full"):
        weights.save_weights(initialised(2), path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["conv.weight", "bn.bias", "bn.running_var", "bn.num_batches_tracked"])
def test_the_digest_feels_one_changed_number_in_any_parameter_or_buffer(name):
    network = initialised()
    before = weights.weights_digest(network)
    with torch.no_grad():
        weights.state(network)[name].view(-1)[0] += 1

    assert weights.weights_digest(network) != before


def test_the_digest_feels_types_shapes_and_names():
    digests = set()
    for tensor in (torch.zeros(4), torch.zeros(2, 2), torch.zeros(4, dtype=torch.int32), torch.zeros(2).double()):
        for name in ("a", "b"):
            network = nn.Module()
            network.register_buffer(name, tensor)
            digests.add(weights.weights_digest(network))

    assert len(digests) == 8


def test_state_that_is_no_tensor_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"^Talkative\._extra_state: is not a tensor; it should be kept in a buffer$"):
        weights.save_weights(Talkative(), tmp_path / "w.safetensors")


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"epoch": 3, "state_dict": s}])
@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("suffix", [".pth", ".pt"])
def test_state_dicts_as_others_save_them_are_read(tmp_path, wrap, prefix, suffix):
    network, other = initialised(1), initialised(2)
    torch.save(wrap({prefix + name: tensor for name, tensor in network.state_dict().items()}), tmp_path / f"w{suffix}")

    weights.load_weights(other, tmp_path / f"w{suffix}")

    assert same(network, other)


def test_a_part_of_the_users_own_network_may_be_called_module(tmp_path):
    network, other = (nn.Sequential(OrderedDict(module=initialised(seed))) for seed in (1, 2))
    weights.save_weights(network, tmp_path / "w.safetensors")

    weights.load_weights(other, tmp_path / "w.safetensors")

    assert same(network, other)


def test_files_older_than_the_counters_of_batch_norms_are_read():
    network, other = initialised(1), initialised(2)
    tensors = {name: tensor for name, tensor in weights.state(network).items() if "num_batches" not in name}

    weights.install(other, tensors, "here")

    assert same(network, other)


def changed(change: dict[str, Tensor | None]) -> dict[str, Tensor]:
    tensors = {**weights.state(initialised(1)), **change}
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bn.weight": None, "fc.bias": None}, r"lacks bn\.weight; Small expects it as float32 \[2\]$"),
        ({"fc2.bias": torch.zeros(3)}, r"has fc2\.bias, which Small has not; it should hold Small's 9 tensors$"),
        ({"conv.weight": torch.zeros(2, 3, 3, 3)}, r"conv\.weight is float32 \[2, 3, 3, 3\]; Small expects float32 \["),
        ({"conv.weight": torch.zeros(4, 1, 3, 3)}, r"conv\.weight is float32 \[4, 1, 3, 3\]; Small expects float32 \["),
        ({"fc.bias": torch.zeros(3).int()}, r"fc\.bias is int32 \[3\]; Small expects float32 \[3\]$"),
        ({"fc.weight": torch.zeros(())}, r"fc\.weight is float32 \[\]; Small expects float32 \[3, 8\]$"),
        ({"fc.weight": torch.zeros(1000, 8), "fc.bias": torch.zeros(1000)},
         r"tells 1000 classes apart \(fc\.weight\); the dataset has 3$"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused_by_the_first_tensor_that_does_not(tmp_path, change, message):
    path, network = tmp_path / "w.safetensors", initialised(2)
    safetensors.torch.save_file(changed(change), path)

    with pytest.raises(ModelError, match=rf"^{path}: {message}"):
        weights.load_weights(network, path)

    assert same(network, initialised(2))


def test_weights_for_a_network_without_any_are_refused_by_name():
    with pytest.raises(ModelError, match=r"^here: has bias, which Flatten has not; it should hold Flatten's 0"):
        weights.install(nn.Flatten(), {"bias": torch.zeros(1)}, "here")


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(Trap.folder),)

    folder: Path


def test_a_file_that_would_run_code_is_refused_and_runs_none(tmp_path):
    Trap.folder = tmp_path / "trapped"
    torch.save({"state_dict": Trap()}, tmp_path / "w.pth")
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(Trap()))

    for name in ("w.pth", "bare.pt"):
        with pytest.raises(ModelError, match=rf"{name}: holds more than tensors, and code from a file is never run"):
            weights.read(tmp_path / name)
    assert not Trap.folder.exists()


def test_a_whole_network_that_was_pickled_is_refused(tmp_path):
    torch.save(nn.Linear(2, 2), tmp_path / "w.pth")

    with pytest.raises(ModelError, match=r"w\.pth: holds more than tensors, .* made by torch\.save\(network\."):
        weights.read(tmp_path / "w.pth")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"model": {}, "epoch": 3}, "holds model, epoch; it should hold tensors by name, there or under the key"),
        ({"state_dict": [1]}, "holds a dict; it should hold tensors by name"),
        (torch.zeros(3), "holds a Tensor; it should hold tensors by name"),
    ],
)
def test_a_file_without_a_state_dict_is_refused_by_what_it_holds(tmp_path, document, message):
    torch.save(document, tmp_path / "w.pth")

    with pytest.raises(ModelError, match=rf"w\.pth: {message}"):
        weights.read(tmp_path / "w.pth")


@pytest.mark.parametrize("kept", [0, 20, 500])
@pytest.mark.parametrize(
    ("suffix", "message"),
    [(".pth", r"w\.pth: cannot be read: .+; write or fetch it again"), (".safetensors", "is not a whole safetensors")],
)
def test_a_file_cut_short_is_refused_in_one_line(tmp_path, suffix, message, kept):
    path = tmp_path / f"w{suffix}"
    tensors = weights.state(initialised())
    torch.save(tensors, path) if suffix == ".pth" else safetensors.torch.save_file(tensors, path)
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(ModelError, match=message) as caught:
        weights.read(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_absent_or_of_another_kind_are_refused(tmp_path):
    (tmp_path / "w.npz").touch()

    with pytest.raises(ModelError, match=r"w\.pth: no such file; put the weights there$"):
        weights.read(tmp_path / "w.pth")
    with pytest.raises(ModelError, match=r"w\.npz: is not a known kind of file; it should end in \.safetensors, \.pth"):
        weights.read(tmp_path / "w.npz")


@pytest.mark.parametrize("spec", ["trained", "random"])
def test_trained_and_random_weights_come_from_no_file(tmp_path, spec):
    assert weights.fetch(spec, tmp_path) is None
    assert list(weights.missing(spec, tmp_path)) == []


@pytest.mark.parametrize("spec", ["mine/w.safetensors", "my_Weights.pth"])
def test_a_file_below_the_data_root_is_fetched(tmp_path, spec):
    (tmp_path / "mine").mkdir()
    write = torch.save if spec.endswith("pth") else safetensors.torch.save_file
    write({"a": torch.ones(2)}, tmp_path / spec)

    assert list(weights.missing(spec, tmp_path)) == []
    assert torch.equal(weights.fetch(spec, tmp_path)["a"], torch.ones(2))  # type: ignore[index]


def test_a_file_that_is_not_below_the_data_root_is_missing(tmp_path):
    sentences = list(weights.missing("mine/w.pth", tmp_path))

    assert sentences == [f"{tmp_path}/mine/w.pth: no such file; put the weights there"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("../w.pth", r"\.\./w\.pth: leaves the data root; it should be a path below "),
        ("/etc/w.pth", r"/etc/w\.pth: leaves the data root; it should be a path below "),
        ("trainde", r"trainde: is not known; choose from trained, random, a file \(\.safetensors"),
        ("ResNet81_Weights.IMAGENET1K_V1", r"ResNet81_W.*: is not an entry of torchvision; did you mean ResNet"),
        ("ResNet18_Weights.DEFAULT", r"ResNet18_W.*: is not an entry of torchvision; did you mean ResNet18_W"),
    ],
)  # fmt: skip
def test_weights_that_a_study_cannot_mean_are_refused_and_missing(tmp_path, spec, message):
    sentences = list(weights.missing(spec, tmp_path))

    with pytest.raises(ModelError, match=f"^{message}") as caught:
        weights.fetch(spec, tmp_path)
    assert sentences == [str(caught.value)]


def test_every_file_that_torchvision_publishes_has_its_hash_in_its_name():
    for model in zoo.list_models(module=zoo):
        for entry in zoo.get_model_weights(model):
            assert re.search(r"-[0-9a-f]{8,}\.pth$", weights._address(str(entry)))


def test_an_entry_is_torchvisions_own_address():
    address = weights._address("ResNet18_Weights.IMAGENET1K_V1")

    assert address == "https://download.pytorch.org/models/resnet18-f37072fd.pth"


def test_published_weights_are_taken_from_the_data_root_before_the_hub(monkeypatch, tmp_path):
    checkpoints, published = hub(monkeypatch, tmp_path), publish(monkeypatch, tmp_path)
    for folder, content in ((tmp_path / "weights", published.read_bytes()), (checkpoints, b"another")):
        folder.mkdir(parents=True)
        (folder / published.name).write_bytes(content)
    published.unlink()

    assert list(weights.missing(ENTRY, tmp_path)) == []
    assert weights.weights_digest(loaded(tmp_path)) == weights.weights_digest(initialised(5))


def loaded(root: Path) -> nn.Module:
    network = initialised(1)
    found = weights.fetch(ENTRY, root)
    assert found is not None
    weights.install(network, found, ENTRY)
    return network


def test_published_weights_are_found_in_the_hubs_cache(monkeypatch, tmp_path):
    checkpoints, published = hub(monkeypatch, tmp_path), publish(monkeypatch, tmp_path)
    checkpoints.mkdir(parents=True)
    published.rename(checkpoints / published.name)

    assert list(weights.missing(ENTRY, tmp_path)) == []
    assert same(loaded(tmp_path), initialised(5))


def test_published_weights_that_are_nowhere_are_fetched_once(monkeypatch, tmp_path):
    hub(monkeypatch, tmp_path)
    published = publish(monkeypatch, tmp_path)

    first = loaded(tmp_path)
    published.unlink()

    assert same(first, initialised(5))
    assert same(loaded(tmp_path), first)
    assert list((tmp_path / "weights").iterdir()) == [tmp_path / "weights" / published.name]


def test_published_weights_that_cannot_be_fetched_say_which_file_goes_where(monkeypatch, tmp_path):
    checkpoints, published = hub(monkeypatch, tmp_path), publish(monkeypatch, tmp_path)
    published.unlink()
    wanted = f"{ENTRY}: is not here; put {published.as_uri()} in {tmp_path}/weights or in {checkpoints}"

    with pytest.raises(ModelError, match=r"fetching it failed: .*No such file") as caught:
        weights.fetch(ENTRY, tmp_path)
    assert str(caught.value).startswith(wanted)
    assert list(weights.missing(ENTRY, tmp_path)) == [wanted]
    assert list(weights.missing(ENTRY, tmp_path, download=True)) == []


def test_published_weights_with_another_hash_are_refused_wherever_they_come_from(monkeypatch, tmp_path):
    hub(monkeypatch, tmp_path)
    published = publish(monkeypatch, tmp_path)
    published.write_bytes(b"another file")
    message = rf"weights/{published.name}: is not the published file, whose SHA-256 begins with [0-9a-f]{{8}}; fetch it"

    with pytest.raises(ModelError, match=message):
        weights.fetch(ENTRY, tmp_path)
    assert list((tmp_path / "weights").iterdir()) == []
    published.rename(tmp_path / "weights" / published.name)
    with pytest.raises(ModelError, match=message):
        weights.fetch(ENTRY, tmp_path)
    assert [s.count("is not the published file") for s in weights.missing(ENTRY, tmp_path, download=True)] == [1]


def test_heads_that_networks_have_only_while_they_learn_are_left_out(monkeypatch, tmp_path):
    hub(monkeypatch, tmp_path)
    publish(monkeypatch, tmp_path, {name: torch.ones(1) for name in ("fc.bias", "aux1.fc.bias", "AuxLogits.fc.bias")})

    assert list(weights.pretrained(ENTRY, tmp_path)) == ["fc.bias"]


def test_names_in_densenets_old_files_are_brought_up_to_date(monkeypatch, tmp_path):
    hub(monkeypatch, tmp_path)
    old = "features.denseblock1.denselayer1.norm.1.weight", "features.denseblock1.denselayer1.conv.2.weight"
    publish(monkeypatch, tmp_path, {name: torch.ones(1) for name in (*old, "features.norm5.bias")})

    assert list(weights.pretrained("DenseNet121_Weights.IMAGENET1K_V1", tmp_path)) == [
        "features.denseblock1.denselayer1.norm1.weight",
        "features.denseblock1.denselayer1.conv2.weight",
        "features.norm5.bias",
    ]


def test_published_weights_that_want_their_inputs_transformed_are_refused_without():
    network = Small()
    network.transform_input = False  # type: ignore[assignment]

    with pytest.raises(ModelError, match=r"^Inception_V3_Weights\.IMAGENET1K_V1: was trained with transform_input"):
        weights.install(network, weights.state(Small()), "Inception_V3_Weights.IMAGENET1K_V1")
