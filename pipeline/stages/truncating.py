"""Functional direct matching between truncations of one layer, which takes no stitch.

Principal coordinates do not correlate, so the affine map with the least squared error from a layer at one rank to the
same at another keeps the coordinates that both have and gives the others their mean: what comes out is the layer at the
smaller of the two ranks. Its accuracy is that of the network itself with so much of the layer.
"""

import numpy as np
import torch

from pipeline.classifying import share_right
from pipeline.cutting import Cuttable
from pipeline.folding import folded
from pipeline.networks import read_network, read_plan
from pipeline.store import Store
from pipeline.truncation import Truncation
from pipeline.weights import weights_digest


def classifies(model: str) -> bool:
    """Whether its answers are classes; an autoencoder's are images."""
    return not read_plan(model).variant().image


def accuracies(store: Store, cut: str, truncation: Truncation, device: torch.device) -> list[float]:
    """Of the store's network, with the layer at each rank."""
    model, seed = store.identity.model, store.identity.seed
    network = read_network(model, seed, torch.device("cpu"))
    store.expect(weights=weights_digest(network))
    cuttable = Cuttable(network, read_plan(model).shape)
    tail = folded(cuttable.tail(cuttable.cut(cut))).to(device)
    return [share_right(tail, rows, store.labels("test"), device) for rows in truncation.layers()]


def matched(found: list[float]) -> np.ndarray:
    """From every rank to every other, of the network's accuracies at ranks that fall."""
    ranks = np.arange(len(found))
    return np.array(found)[np.maximum.outer(ranks, ranks)]
