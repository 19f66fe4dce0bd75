"""Any network of timm, by its name there; timm is an extra."""

from dataclasses import dataclass
from typing import Any, final

from torch import nn

from pipeline.errors import ModelError, choices
from pipeline.models.base import Architecture

_TAKEN = ("pretrained", "num_classes", "in_chans")


@final
@dataclass(frozen=True)
class TimmModel(Architecture):
    """timm's own constructor; channels and the number of classes come from the dataset."""

    name: str
    options: dict[str, Any]  # further keywords of the constructor, as {img_size: 32, patch_size: 4}

    def __post_init__(self) -> None:
        timm = _timm()
        if not timm.is_model(self.name):
            hint = choices(self.name, timm.list_models())
            if not hint.startswith("did you mean"):  # all of them would be a thousand names
                hint = "timm.list_models() names them"
            raise ValueError(f"name: {self.name} is not a timm model; {hint}")
        for key in _TAKEN:
            if key in self.options:
                raise ValueError(f"options: has {key}, which the study sets; it should be left out")

    def build(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        try:
            return _timm().create_model(self.name, num_classes=classes, in_chans=shape[0], **self.options)
        except (TypeError, ValueError, RuntimeError, AssertionError) as error:
            reason = " ".join(str(error).split())
            raise ModelError(
                f"timm_model {self.name}: cannot be built: {reason}; "
                "its options should be keywords that its constructor takes"
            ) from error


def _timm() -> Any:
    try:
        import timm
    except ModuleNotFoundError as error:
        raise ModelError("timm_model: timm is not installed; pip install 'backstitch[timm]'") from error
    return timm
