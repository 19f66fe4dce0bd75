"""Any classification network of torchvision, by its name there."""

from dataclasses import dataclass
from typing import Any, final

from torch import nn
from torchvision import models as zoo

from pipeline.errors import ModelError, choices
from pipeline.models.base import Architecture

# What follows from the study, and what would make a network return more than its logits.
_TAKEN = ("weights", "num_classes", "aux_logits", "image_size", "input_size")
_TWO_HEADED = ("googlenet", "inception_v3")


@final
@dataclass(frozen=True)
class TorchvisionModel(Architecture):
    """torchvision's own constructor; sizes of images and the number of classes come from the dataset."""

    name: str
    options: dict[str, Any]  # further keywords of the constructor, as {dropout: 0.1}

    def __post_init__(self) -> None:
        known = zoo.list_models(module=zoo)
        if self.name not in known:
            raise ValueError(f"name: {self.name} is not a torchvision classifier; {choices(self.name, known)}")
        for key in _TAKEN:
            if key in self.options:
                raise ValueError(f"options: has {key}, which the study sets; it should be left out")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        if shape[0] != 3:
            raise ModelError(
                f"torchvision_model {self.name}: images have {shape[0]} channels; it takes images of 3 channels"
            )
        keywords = {"num_classes": classes, **_fixed(self.name, shape), **self.options}
        try:
            return zoo.get_model(self.name, weights=None, **keywords)
        except (TypeError, ValueError, RuntimeError, AssertionError) as error:  # options or sizes
            reason = " ".join(str(error).split())
            raise ModelError(
                f"torchvision_model {self.name}: cannot be built for {shape[1]} x {shape[2]} images: {reason}; "
                "its options should be keywords that its constructor takes"
            ) from error


def _fixed(name: str, shape: tuple[int, int, int]) -> dict[str, Any]:
    """Keywords without which the network would not fit the images, or not return one tensor."""
    if name in _TWO_HEADED:
        return {"aux_logits": False, "init_weights": True}
    if name.startswith("maxvit_"):
        return {"input_size": shape[1:]}
    if not name.startswith("vit_"):
        return {}
    if shape[1] != shape[2]:
        raise ModelError(f"torchvision_model {name}: images are {shape[1]} x {shape[2]}; they should be square")
    return {"image_size": shape[1]}
