"""Folding changes nothing beyond rounding: neither answers nor the gradients a stitch is trained by."""

import pytest
import torch
import torchvision
from torch import nn

from pipeline.cutting import Cuttable
from pipeline.folding import folded

MODELS = {
    "resnet18": lambda: torchvision.models.resnet18(num_classes=10),
    "vgg11_bn": lambda: torchvision.models.vgg11_bn(num_classes=10),
    "densenet121": lambda: torchvision.models.densenet121(num_classes=10),  # its norms come before its convolutions
}


def cuttable(name: str) -> Cuttable:
    torch.manual_seed(0)
    model = MODELS[name]().double().eval()  # in float64, so that an error is not taken for rounding
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d) and part.running_mean is not None and part.running_var is not None:
            nn.init.normal_(part.running_mean)
            nn.init.uniform_(part.running_var, 0.5, 2)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    return Cuttable(model.float(), (3, 32, 32))


@pytest.mark.parametrize("name", MODELS)
def test_answers_and_gradients_are_those_of_the_tail_itself(name: str) -> None:
    model = cuttable(name)
    cut = model.cuts[2]
    tail = model.tail(cut).requires_grad_(False).double()
    inputs = torch.randn(2, *cut.shape, dtype=torch.float64)

    results = []
    for module in (tail, folded(tail)):
        given = inputs.clone().requires_grad_()
        answer = module(given)
        answer.square().sum().backward()
        results.append((answer.detach(), given.grad))

    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_the_norms_behind_convolutions_are_gone_and_the_tail_is_as_it_was() -> None:
    model = cuttable("resnet18")
    tail = model.tail(model.cuts[2])
    before = [node.name for node in tail.graph.nodes]

    fused = folded(tail)

    assert not any("bn" in node.name for node in fused.graph.nodes)
    assert [node.name for node in tail.graph.nodes] == before
    assert not any(weight.requires_grad for weight in fused.parameters())


class Shared(nn.Module):
    """One convolution before two norms, and a norm whose input is seen by another."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.other = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)
        self.one, self.two, self.three = nn.BatchNorm2d(3), nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.two(self.conv(self.one(self.conv(x))))
        seen = self.other(x)
        return self.three(seen) + seen


def test_what_others_use_too_is_left_alone() -> None:
    module = torch.fx.symbolic_trace(Shared().eval())
    for norm in (module.one, module.two, module.three):
        nn.init.uniform_(norm.running_var, 0.5, 2)  # type: ignore[arg-type]
    inputs = torch.randn(2, 3, 4, 4)

    fused = folded(module)

    assert [node.name for node in fused.graph.nodes] == [node.name for node in module.graph.nodes]
    torch.testing.assert_close(fused(inputs), module(inputs))
