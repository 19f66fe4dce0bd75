"""A receiver → detectors of what is out of its distribution, one at each cut, and how far they can be trusted."""

import shutil
from collections.abc import Iterator

import pandas

from pipeline import paths
from pipeline.atomic import appear, write_text
from pipeline.params import Params
from pipeline.progress import progress
from pipeline.separation import auroc
from pipeline.stages.detecting import Watch
from pipeline.stages.gathering import gathering

COLUMNS = ["receiver", "seed", "cut", "detector", "measure", "value"]


def run(params: Params, receiver: str, seed: int) -> None:
    folder = gathering("detect", receiver, seed)
    watch = Watch(params, receiver, seed, folder)
    work = [(cut, name) for cut in watch.own.cuts for name in watch.detectors]
    rows = []
    for cut, name in progress(work, len(work), f"detectors of {receiver}, seed {seed}", "detectors"):
        if watch.detectors[name].trained:
            path = watch.train(cut, name)
            shutil.copyfile(path, folder / path.name)
        rows += [[receiver, seed, cut, name, measure, value] for measure, value in trust(watch, cut, name)]
    write_text(folder / "trust.csv", pandas.DataFrame(rows, columns=COLUMNS).to_csv(index=False))
    appear(folder, paths.detectors(receiver, seed))


def trust(watch: Watch, cut: str, name: str) -> Iterator[tuple[str, float]]:
    """AUROCs: of own test images over those it was fitted to, of auxiliary ones over own; 0.5 and 1 would be best."""
    judge = watch.fitted(cut, name)
    held_out = judge.scores(watch.inside(cut))
    yield "held_out", auroc(judge.scores(watch.own.rows("train", cut)), held_out)
    outside = watch.outside(cut)
    if outside is not None:
        yield "auxiliary", auroc(held_out, judge.scores(outside))
