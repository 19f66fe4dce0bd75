"""A plan and a seed → one network: its weights, learning curve and test accuracy."""

import shutil
from functools import partial

import numpy as np
import pandas
import torch

from pipeline import paths
from pipeline.atomic import appear, digest, write_text
from pipeline.augmentation import composed
from pipeline.devices import choose
from pipeline.errors import DataError
from pipeline.imports import closure, code_digest
from pipeline.networks import Plan, accuracy, read_plan
from pipeline.params import Params
from pipeline.prepared import SplitData, normalise, read_prepared
from pipeline.randomness import seed_for
from pipeline.training import Batch, Feed, fit
from pipeline.weights import fetch, install, save_weights


def run(params: Params, name: str, seed: int) -> None:
    plan, device = read_plan(name), choose(params.machine.device)
    data = read_prepared(paths.dataset(plan.dataset))
    if data.digest != plan.data:
        raise DataError(f"data/prepared/{plan.dataset}: is not what {name} was planned on; run dvc repro")
    root = seed_for(params.seed, "models", name, seed)
    scratch = paths.scratch("train", digest(params.seed, name, seed, paths.plan(name).read_text(), _code()))
    network = plan.network(seed_for(root, "weights")).to(device)
    curve = []
    if plan.weights == "trained":
        feed = images(data.splits["train"], plan, device)
        network.train()
        loss = partial(plan.variant().loss, network)
        curve = fit(network, loss, feed, plan.recipe, root, f"{name}-{seed}", scratch / "checkpoint.pt")
    elif plan.weights != "random":
        weights = fetch(plan.weights, paths.data_root(params.root, params.data.root))
        install(network, weights or {}, f"models.{name}.weights: {plan.weights}")
    test = data.splits["test"]
    facts = {"model": name, "seed": seed, "data": plan.dataset}
    measures = {"accuracy": accuracy(network.eval(), test, device), "samples": len(test)}
    rows = [{**facts, "measure": measure, "value": value} for measure, value in measures.items()]
    finished = scratch / "finished"
    save_weights(network.cpu(), finished / "weights.safetensors")
    write_text(finished / "curve.csv", pandas.DataFrame(curve, columns=["epoch", "rate", "loss"]).to_csv(index=False))
    write_text(finished / "rows.csv", pandas.DataFrame(rows).to_csv(index=False))
    appear(finished, paths.network(name, seed))
    shutil.rmtree(scratch)


def _code() -> str:
    return code_digest(closure(__name__))


def images(data: SplitData, plan: Plan, device: torch.device) -> Feed:
    """Augmented, normalised batches of the split."""
    augment = composed(f"recipes of {plan.model}", plan.recipe.augment)
    labels = torch.from_numpy(data.labels).to(device)

    def fetch_rows(at: np.ndarray, random: np.random.Generator) -> Batch:
        pixels = augment(np.ascontiguousarray(data.inputs[at]), random)
        return normalise(torch.from_numpy(pixels).to(device), data.mean, data.std), labels[at]

    return Feed(len(data), fetch_rows)
