"""What a study will take, against networks counted by hand and stores that were written."""

from dataclasses import replace

import pytest
from click.testing import CliRunner
from torch import nn

from pipeline.chunking import CRC_BYTES
from pipeline.cli import main
from pipeline.loading import load_params
from pipeline.models.torchvision_model import TorchvisionModel
from pipeline.params import Params
from pipeline.stages.bill import Item, items, products, table
from pipeline.stages.study import TOP

# The networks of studies/tiny, on 3 × 8 × 8: a stem of 4 channels, a block of 4, one of 8 at half the side, 3 classes.
STEM, BLOCK_1, BLOCK_2, HEAD = 64 * 27 * 4, 64 * 9 * (16 + 16), 16 * (9 * (4 * 8 + 8 * 8) + 4 * 8), 8 * 3
NETWORK = STEM + BLOCK_1 + BLOCK_2 + HEAD
IMAGES = 64  # of either split


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(TOP / "studies/tiny")
    return load_params(TOP / "studies/tiny/params.yaml")


def by_stage(params: Params) -> dict[str, Item]:
    return {item.stage: item for item in items(params)}


def test_a_convolution_multiplies_every_weight_at_every_place() -> None:
    assert products(nn.Conv2d(3, 8, 3, padding=1), (3, 5, 7)) == 3 * 8 * 9 * 5 * 7


def test_a_resnet_18_at_28_is_as_counted_elsewhere() -> None:
    """Smith et al. (2025) stitch torchvision's at this size: about 34 million, layer by layer by hand."""
    network = TorchvisionModel("resnet18", {}).build((3, 28, 28), 10)

    assert products(network, (3, 28, 28)) == pytest.approx(34e6, rel=0.02)


def test_attention_is_counted() -> None:
    """torchvision prints 4.41 · 10⁹ for this one, without the products of queries and keys."""
    network = TorchvisionModel("vit_b_32", {}).build((3, 224, 224), 1000)

    assert products(network, (3, 224, 224)) == pytest.approx(4.41e9, rel=0.03)


def test_training_is_three_passes_over_all_images_of_all_epochs(tiny: Params) -> None:
    train = by_stage(tiny)["train"]

    assert (train.count, train.work) == (2, 2 * 3 * 3 * IMAGES * NETWORK)


def test_stores_take_the_bytes_of_their_cuts(tiny: Params) -> None:
    """relu and layer1 have 4 × 64 numbers, layer2 has 8 × 16; each array is one chunk a split."""
    extract = by_stage(tiny)["extract"]

    assert extract.count == 2
    assert extract.bytes == 2 * (2 * IMAGES * 4 * (256 + 256 + 128) + 6 * CRC_BYTES)
    assert extract.work == 2 * (2 * IMAGES + 2 * IMAGES) * NETWORK  # and all again, recalibrated


def test_a_cell_is_its_stitch_and_the_tail_behind_it(tiny: Params) -> None:
    """At layer2: 8 × 8 weights at 16 places, and behind them the last layer alone."""
    last = replace(tiny, extract=replace(tiny.extract, cuts=("layer2",)))
    stitch, tested = 16 * 64, IMAGES * (16 * 64 + HEAD)
    by_descent = tiny.stitch.epochs * IMAGES * (3 * stitch + 2 * HEAD)
    by_moments = IMAGES * 16 * 8 * (8 + 8)

    found = by_stage(last)

    assert (found["stitch"].count, found["stitch"].work) == (2, by_descent + by_moments + 2 * tested)
    assert found["control"].count == 2 * 2 + 1  # itself and an untrained sender by both; noise has no pairs
    assert found["control"].work == 2 * found["stitch"].work + by_descent + tested


def test_a_sender_that_goes_by_batches_runs_again_with_every_batch(tiny: Params) -> None:
    last = replace(tiny, extract=replace(tiny.extract, cuts=("layer2",)), objectives={"task": tiny.objectives["task"]})
    front = NETWORK - HEAD

    online = by_stage(replace(last, stitch=replace(last.stitch, sender_bn="batch")))["stitch"]

    assert online.work - by_stage(last)["stitch"].work == (tiny.stitch.epochs + 1) * IMAGES * front


def test_stitches_of_fewer_classes_see_fewer_images(tiny: Params) -> None:
    """Of three classes in turns, 43 of 64 images are of the first two."""
    few = replace(tiny, stitch=replace(tiny.stitch, labels=replace(tiny.stitch.labels, classes=2)))

    assert by_stage(few)["stitch"].work == by_stage(tiny)["stitch"].work * 43 / 64


def test_trained_detectors_say_themselves_how_long_they_learn(tiny: Params) -> None:
    energy = {
        "pretraining": "plain", "finetuning": "plain", "margin_inside": -4.0, "margin_outside": -1.0, "weight": 0.1,
        "temperature": 1.0, "maps": {"size": 2, "blocks": [1], "width": 4}, "tokens": {"depth": 1, "heads": 1},
        "flat": {"depth": 1, "width": 8},
    }  # fmt: skip
    plain = {"plain": replace(tiny.recipes["sgd"], augment=())}
    judged = replace(tiny, recipes=plain | tiny.recipes, detectors={"energy": energy}, receivers=("two",))
    judged = replace(judged, extract=replace(judged.extract, cuts=("layer2",)))
    network = 4 * 9 * (8 * 4 + 4 * 4 + 4 * 4) + 4 * 3

    detect = by_stage(judged)["detect"]

    assert (detect.count, detect.work) == (1, 3 * 3 * (IMAGES + 2 * IMAGES) * network)


def test_hours_go_by_the_rate_and_the_last_line_says_which(tiny: Params) -> None:
    slow, fast = (list(table(tiny, rate)) for rate in (1e-6, 2e-6))

    assert float(slow[-2].split()[-1]) == pytest.approx(2 * float(fast[-2].split()[-1]), abs=0.02)
    assert slow[-1].startswith("hours of one device that does 1e-06 · 10^12")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    result = CliRunner().invoke(main, ["bill", "--rate", rate])

    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "--rate: is" in result.output
