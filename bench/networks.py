"""The networks and stores that are measured; nothing of them is trained, which moves no time."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torchvision
from torch import nn

from pipeline.arrays import Labels, Rows, Shape
from pipeline.models.small_resnet import SmallResNet
from pipeline.prepared import Prepared, SplitData
from pipeline.randomness import generator, seeded
from pipeline.store import Identity, Spec, Store, StoreWriter

CLASSES = 10


def resnet18(width: int, image: int) -> nn.Module:
    """Ours, with the stem for small images."""
    with seeded(0):
        return SmallResNet((2, 2, 2, 2), width, "cifar").build((3, image, image), CLASSES).eval().requires_grad_(False)


def torchvision_resnet18() -> nn.Module:
    with seeded(0):
        return torchvision.models.resnet18().eval().requires_grad_(False)


def images(samples: int, side: int) -> Prepared:
    """Noise for inputs, in one split."""
    random = generator(0, "images")
    inputs = random.integers(0, 256, (samples, 3, side, side), np.uint8)
    rows = SplitData(inputs, labels(samples), (0.5,) * 3, (0.25,) * 3)
    return Prepared("noise", (), (3, side, side), "", {"test": ""}, {"test": rows})


def labels(samples: int) -> Labels:
    return generator(0, "labels").integers(0, CLASSES, samples)


def activations(samples: int, shape: Shape) -> Rows:
    """Three in five of them zero, as after a ReLU; the mantissas are noise, which no codec makes smaller."""
    noise = generator(0, "activations").standard_normal((samples, *shape), np.float32)
    return np.maximum(noise - 0.25, 0)


def identity(layout: str) -> Identity:
    return Identity("noise", 0, "noise", "", "", {"test": ""}, layout, "float32")  # type: ignore[arg-type]


def stored(folder: Path, rows_by_cut: Mapping[str, Rows], layout: str) -> Store:
    """A finished store of the rows, opened."""
    specs = [Spec("test", cut, len(rows), rows.shape[1:]) for cut, rows in rows_by_cut.items()]
    writer = StoreWriter(folder.with_name(f"{folder.name}.scratch"), identity(layout), specs)
    samples = specs[0].samples
    for start in range(0, samples, 128):
        writer.write("test", start, {cut: rows[start : start + 128] for cut, rows in rows_by_cut.items()})
    writer.finish({"test": labels(samples)}, folder)
    return Store(folder)
