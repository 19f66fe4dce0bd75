"""Rows as a table: for the terminal, and as the page docs/bench.md."""

from collections.abc import Sequence

from bench.ratios import Row
from pipeline.stages.extract import gb

HEADER = ("what", "ratio", "turns", "mark", "", "ours", "held against", "size")
TITLES = {
    "extraction": "Extraction",
    "reading": "Reading raw stores",
    "packed": "Reading packed stores",
    "stitching": "Training from a store",
    "stepping": "A step through the tail",
    "grid": "A whole grid",
    "measures": "Similarity of all pairs",
    "growth": "How similarity grows",
    "repeating": "Nothing to do",
}
EXPLANATIONS = {
    "extraction": """\
`stages.extract.extract` and `StoreWriter`, from mapped inputs to the finished store, every number checked for
being finite and every byte checksummed, against the slower of two limits: the bare forward pass over the same
inputs in the same batches, and writing as many bytes to one `.npy` file a cut from memory. Writing happens in a
thread behind the forward pass. What limits it: the pass keeps all cores busy, so the copy of each byte into the
page cache, its checksum and its check are taken from the pass. What pays for it: `system.keep_memory`, without which
glibc returns large tensors to the system after every layer, and `system.reserve`, which takes the disk of a chunk at
once and so halves the time of writing to it. The bare pass runs with glibc as it is; *memory kept by
both* gives it the same advantage, and so shows what writing alone costs. On a virtual machine the first touch of a
page that its host has taken back costs several times the copy; that slows `.npy` files as it slows stores.""",
    "reading": """\
`Store(...).rows(split, cut)`, 128 rows in order (copied out of the map) and 256 at random, against a `.npy`
memmap of the same values, pages in memory, both with `system.keep_memory` as in training. What limits it: a raw chunk
is a `.npy` file in all but the header, so both are one copy; several chunks are mapped one after another into
one array, whose rows are taken like those of one file.""",
    "packed": """\
`PackedRows.read`, 128 rows at a time in order, against zarr-python reading the same array in the same blocks.
What limits it: decompression; all cores decode inner chunks from a map of the shard, whose index is read once,
each right to its place among the rows.""",
    "stitching": """\
`training.fit` of a 1×1 convolution at `layer2` of ResNet-18 for one epoch of the `task` objective, with
`reading.batches_of` a raw store, against the same from tensors that are in memory already. `resident` loads the
layer first, inside the time; `mapped` has a memory budget of one byte, so every batch is gathered from the store.
What limits it: the tail's passes, beside which reading is small.""",
    "stepping": """\
Forward, backward and Adam's step of one stitch, from the sender's cached activations through the receiver's tail,
against hooks in two whole networks: the sender runs to its end, the receiver's layer is replaced by a hook, and
autograd follows the stitch only. What limits it: at the earliest cut the tail is almost the whole network, and of
the four passes that hooks make (sender, receiver's front, tail, tail backwards) only the first two fall away; the
other two are faster for a tail with its BatchNorms folded and channels last, and with `system.keep_memory`, which
training a stitch begins with; *memory kept by both* gives it to the loop too. At the last cut nearly all goes.""",
    "grid": """\
The `stitch` stage on all pairs of blocks of one ResNet-18 at 32×32, one epoch, tested on 500 images (five senders on as
many as they are trained on), from its store to tested cells, in as many processes as there are processors; against a
loop in the manner of the papers: images in memory, both networks whole and hooked, one cell at a time, glibc as it is.
Of the 64 cells the loop makes one of each pair of shapes, 16, and each counts for its four; the stage makes all.
What limits it: of the four passes that hooks make (sender, receiver, and the tail there and back) the tail's two are
left, and one of two at testing; *its tails' passes alone* are those. Convolutions run at the processors' peak, so the
rest is overhead.
`direct`, *made and tested*, is limited by testing: every stitch goes through the tail with every test image. *Solved*
leaves that out on both sides: one pass over the store and one factorisation for each source and size of target,
against one `numpy.linalg.lstsq` a pair, which is what papers call; part of the factor is that a singular value
decomposition of all rows costs more than their products. It is of fewer images than `task`: of 2,000, the rows of one
pair of an early and a wide layer take the loop 26 GB. Memory is the peak of a process that stitches in a budget of
one megabyte, so that every batch is gathered from the store.""",
    "measures": """\
An index of all pairs of the blocks of five untrained ResNet-18s at 32×32, from their stores, against formulas as one
writes them with NumPy and SciPy in float64 (`bench/direct.py`), pair by pair, on as many threads; values agree to 1e-6.
A pair by formula takes as long as its shapes say, so one of each pair of shapes is timed and counts for all. The mark
is for all of it together, *all of …*; the lines above say what each index and view has part in that.
What limits it: factorisations are made once a layer instead of once a pair, and what is left are a product and, for
PWCCA and Procrustes, a singular value decomposition of each pair, as large as the ranks are: no index that is exact can
share those. Layers of more features than samples span all that centred rows can, so all of their canonical correlations
are 1, and PWCCA takes no decomposition. For `linear_cka` the formula is that of kernels, as printed; *against features*
is the one for narrow layers, which multiplies three times where all pairs need once. *Against repsim* is a package of
PyPI, of narrow layers alone, for it takes minutes for a pair of 512 features. Memory is the most that NumPy held at a
time, of all four.""",
    "growth": """\
Seconds by the number of layers, of 1,250 samples each, and by the number of samples, of five layers each; a ratio is
that of the shortest time to this one. Layers are made up, of 256 features; pairs grow with the square of layers.

![Seconds by layers and by samples](bench-growth.svg)""",
    "repeating": """\
Wall time of `dvc repro` in the repository's top when all is up to date; the ratio is 5 s over it, and 0 if any
stage ran. None of our code runs then: all of it is DVC's start, its reading of `dvc.yaml` and its check of every
dependency.""",
}


def cells(row: Row) -> tuple[str, ...]:
    low, high = row.spread
    mark = "–" if row.mark is None else f"{row.mark:g}"
    size = gb(row.bytes) if row.bytes else "–"
    return (row.name, f"{row.ratio:.2f}", f"{low:.2f} to {high:.2f}", mark, row.verdict, row.ours, row.limit, size)


def line(row: Row) -> str:
    """For the terminal, as soon as it is known."""
    name, ratio, turns, mark, verdict, ours, limit, size = cells(row)
    return f"{name:<58} {ratio:>7} ({turns}), mark {mark:>3} {verdict:<6}  {ours} against {limit}; {size}"


def markdown(rows: Sequence[Row], machine: str, before: str = "") -> str:
    """The page, a section for every part that has rows, or had some on the page as it was before."""
    found = {part: section(part, [row for row in rows if row.part == part], machine) for part in TITLES}
    kept = {part: earlier(before, title) for part, title in TITLES.items()}
    measured = {row.part for row in rows}
    sections = [found[part] if part in measured else kept[part] for part in TITLES if part in measured or kept[part]]
    return "\n\n".join([INTRODUCTION, *sections]) + "\n"


def section(part: str, rows: Sequence[Row], machine: str) -> str:
    lines = [HEADER, ("---",) * len(HEADER), *map(cells, rows)]
    table = "\n".join(f"| {' | '.join(entries)} |" for entries in lines)
    return f"## {TITLES[part]}\n\n{EXPLANATIONS[part]}\n\n{table}\n\nMeasured on: {machine}."


def earlier(page: str, title: str) -> str:
    """The section of that title; empty if there is none."""
    return next((f"## {text.strip()}" for text in page.split("\n## ") if text.startswith(f"{title}\n")), "")


INTRODUCTION = """\
# Speed

Written by `python -m bench --markdown docs/bench.md`. Every line is a ratio of two times of one run, taken in turn
on one machine: the best time of what limits us over our best time. Above 1 is faster than the limit. *Turns* are the
lowest and the highest ratio of a single turn, and say how far others disturbed it. A line without a mark is
there to explain its neighbours. Each section says when and on what it was measured."""
