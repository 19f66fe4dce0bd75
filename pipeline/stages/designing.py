"""What params tell trials of the networks that a study will have."""

from collections.abc import Mapping

from pipeline.params import Model, Params
from pipeline.trials.base import Design


def design(params: Params, cuts: Mapping[str, Mapping[str, int]]) -> Design:
    """`cuts` are those of each model, and their features."""
    return Design({name: _kind(model) for name, model in params.models.items()}, params.seeds, cuts)


def _kind(model: Model) -> str:
    """All that decides a network but chance; empty where chance decides nothing, its weights being a file's."""
    if model.weights not in ("trained", "random"):
        return ""
    return "/".join([model.architecture, model.dataset, model.recipe, model.weights])
