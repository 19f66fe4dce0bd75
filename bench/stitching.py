"""Training a stitch from a store against training it from tensors in memory."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from bench.networks import activations, labels, resnet18, stored
from bench.ratios import Contender, Row, nothing, ratio_row, side_by_side
from bench.sizes import Sizes
from pipeline.cutting import Cuttable
from pipeline.folding import folded
from pipeline.params import Recipe
from pipeline.reading import batches_of
from pipeline.stitches.conv1x1 import Conv1x1
from pipeline.training import Feed, Source, fit

CPU = torch.device("cpu")
CUT = "layer2"


def rows(sizes: Sizes) -> Iterator[Row]:
    """Resident and mapped, of a store in several chunks."""
    model = Cuttable(resnet18(sizes.width, sizes.image), (3, sizes.image, sizes.image))
    cut = model.cut(CUT)
    values, answers = activations(sizes.stitched, cut.shape), labels(sizes.stitched)
    tail, recipe = folded(model.tail(cut)), one_epoch(sizes.stitch_batch)
    held, answers_held = torch.from_numpy(values), torch.from_numpy(answers)
    stored_rows = stored(Path("stitching"), {CUT: values}, "raw").rows("test", CUT)

    def train(feed: Source) -> None:
        stitch = Conv1x1("keep").build(cut.shape, cut.shape)
        fit(stitch, lambda x, y: cross_entropy(tail(stitch(x)), y), feed, recipe, 0, "bench")

    times = side_by_side(
        {
            "tensors": Contender(lambda: train(Feed(len(values), lambda at, _: (held[at], answers_held[at]))), nothing),
            "resident": Contender(lambda: train(batches_of(stored_rows, answers, 2 * values.nbytes, CPU)), nothing),
            "mapped": Contender(lambda: train(batches_of(stored_rows, answers, 1, CPU)), nothing),
        },
        sizes.repetitions,
    )
    for way in ("resident", "mapped"):
        yield ratio_row("stitching", f"an epoch at {CUT}, {way}", times, way, ["tensors"], values.nbytes, 0.9)


def one_epoch(batch: int) -> Recipe:
    return Recipe(
        optimiser="adam", lr=0.001, momentum=0.0, weight_decay=0.0, decay="all", schedule="constant", milestones=(),
        warmup_epochs=0, epochs=1, batch=batch,
    )  # fmt: skip
