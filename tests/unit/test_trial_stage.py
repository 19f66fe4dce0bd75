"""The stage `trial` on the tiny study, whose two models differ in their name alone; and what `check` says before it."""

import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from torch import nn

from pipeline import paths
from pipeline.arrays import Held
from pipeline.errors import DataError, ResourceError
from pipeline.networks import read_network
from pipeline.params import Params
from pipeline.prepared import read_prepared
from pipeline.similarity.least_squares import LeastSquares
from pipeline.similarity.linear_cka import LinearCKA
from pipeline.stages import audit, check, compare, detect, extract, stitch, trial, truncating, trying
from pipeline.store import Store, open_store
from tests.unit.test_stages import TINY, _finished, finished, recode, study  # noqa: F401

INTERVAL = {"confidence": 0.95, "resamples": 200}
TRIALS: dict[str, dict[str, Any]] = {
    "layer_identification": INTERVAL,
    "layer_monotonicity": INTERVAL,
    "sensitivity": {"cuts": ["layer2"], "ranks": [6, 4, 2, 1], "decay": 0.1, "itself": False, **INTERVAL},
    "specificity": {"decay": 0.1, "itself": True},
}
Splits = tuple[np.ndarray, np.ndarray]
CUTS = ("relu", "layer1", "layer2")


def tried(**changes: object) -> Params:
    return study(**{"trials": copy.deepcopy(TRIALS), **changes})


def table(name: str) -> pandas.DataFrame:
    return pandas.read_csv(paths.trial(name))


def answer(name: str, index: str, part: str, of: str, measure: str) -> float:
    rows = table(name).query("index == @index and part == @part and of == @of and measure == @measure")
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def by_the_book(store: Store, cut: str, rank: int) -> Splits:
    """Both splits by scikit-learn's PCA of the training split's places."""
    train, test = (store.rows(split, cut).read(0, 64).astype(np.float64) for split in ("train", "test"))
    flat, asked = (np.moveaxis(rows, 1, -1).reshape(-1, rows.shape[1]) for rows in (train, test))
    pca = PCA(rank, svd_solver="full").fit(flat)
    seen = [pca.inverse_transform(pca.transform(rows)) for rows in (flat, asked)]
    first, second = (np.moveaxis(rows.reshape(64, *train.shape[2:], -1), -1, 1) for rows in seen)
    return first, second


def probe(train: np.ndarray, test: np.ndarray, store: Store) -> float:
    """scikit-learn's logistic regression of standardised means over places."""
    means, asked = train.mean((2, 3)), test.mean((2, 3))
    model = LogisticRegression(C=1 / (0.1 * 64), tol=1e-10, max_iter=20_000)
    model.fit((means - means.mean(0)) / means.std(0), store.labels("train"))
    return float(model.score((asked - means.mean(0)) / means.std(0), store.labels("test")))


@pytest.mark.usefixtures("finished")
def test_layers_are_identified_as_the_comparisons_say() -> None:
    trial.run(tried())

    rows = pandas.read_csv(paths.comparison("linear_cka"))
    for part, same in (("within", True), ("between", False)):
        pairs = rows[(rows["model"] == rows["other_model"]) == same]
        best = pairs.loc[pairs.groupby(["model", "cut"])["value"].idxmax()]
        assert answer("layer_identification", "linear_cka", part, "all", "value") == pytest.approx(
            (best["cut"] == best["other_cut"]).mean()
        )
        assert answer("layer_identification", "linear_cka", part, "all", "count") == 6
    assert set(table("layer_identification")["data"]) == {"patches"}


@pytest.mark.usefixtures("finished")
def test_sensitivity_is_that_of_truncations_and_probes_by_scikit_learn() -> None:
    """Of an index that is symmetric, and of one that is not: it goes from the truncation to the layer."""
    indices = {"linear_cka": LinearCKA("biased", "flattened"), "least_squares": LeastSquares("r2", "positions")}
    given = {name: asdict(index) for name, index in indices.items()}
    compare.run(tried(similarity=given), "least_squares")
    trial.run(tried(similarity=given))

    for model in ("one", "two"):
        store = open_store(model, 0, "patches")
        seen = [by_the_book(store, "layer2", rank) for rank in (8, 6, 4, 2, 1)]
        accuracies = np.array([probe(*both, store) for both in seen])
        best = int(accuracies.argmax())
        kept = np.arange(5) != best
        assert np.ptp(accuracies[kept]) > 0
        for name, index in indices.items():
            distances = -index.matrix([Held(test) for _, test in seen], 10**9)[:, best]
            wanted: Any = stats.kendalltau(accuracies[best] - accuracies[kept], distances[kept])
            found = answer("sensitivity", name, "layer", f"{model}/0/layer2", "kendall")
            assert found == pytest.approx(wanted.statistic)


@pytest.mark.usefixtures("finished")
def test_what_is_dear_is_made_once_and_a_new_index_costs_its_own_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    trial.run(tried())
    before = {path.name: path.read_bytes() for path in paths.TRIALS.iterdir()}
    monkeypatch.setattr(trying, "probe_accuracy", lambda *_: pytest.fail("probed again"))
    trial.run(tried())
    after = {path.name: path.read_bytes() for path in paths.TRIALS.iterdir()}
    monkeypatch.setattr(LinearCKA, "matrix", lambda *_: pytest.fail("compared again"))
    monkeypatch.setattr(truncating, "accuracies", lambda *_: pytest.fail("tested again"))
    more = {"similarity": {**TINY["similarity"], "procrustes": {"form": "squared", "of": "flattened"}}}
    only = {"similarity": {"procrustes": more["similarity"]["procrustes"]}}
    compare.run(tried(**only), "procrustes")
    trial.run(tried(**more))

    assert after == before
    assert set(before) == {f"{name}.csv" for name in TRIALS}
    assert set(table("sensitivity")["index"]) == {"linear_cka", "procrustes", "accuracy_direct"}
    assert answer("layer_identification", "procrustes", "within", "all", "value") == 1


@pytest.mark.usefixtures("finished")
def test_networks_are_seen_through_again_where_their_code_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    trial.run(tried())
    seen = list[str]()
    original = truncating.accuracies
    monkeypatch.setattr(
        truncating, "accuracies", lambda store, *more: seen.append(store.identity.model) or original(store, *more)
    )
    recode("two")

    trial.run(tried())

    assert set(seen) == {"two"}


@pytest.mark.usefixtures("finished")
def test_direct_matching_of_truncations_is_what_solving_every_pair_finds() -> None:
    """By NumPy's least squares on the training split's places, through the whole network."""
    trial.run(tried())

    for model in ("one", "two"):
        store, network = open_store(model, 0, "patches"), read_network(model, 0, torch.device("cpu"))
        ranks = (8, 6, 4, 2, 1)
        seen = [by_the_book(store, "layer2", rank) for rank in ranks]
        values = np.array([[functional(network, source, target, store) for target in seen] for source in seen])
        probed = np.array([probe(*both, store) for both in seen])
        best = int(probed.argmax())
        losses, apart = probed[best] - probed, -np.minimum(values[best], values[:, best])
        kept = np.arange(len(ranks)) != best
        wanted: Any = stats.kendalltau(losses[kept], apart[kept])
        found = answer("sensitivity", "accuracy_direct", "layer", f"{model}/0/layer2", "kendall")
        assert found == pytest.approx(0.0 if np.isnan(wanted.statistic) else wanted.statistic)
        for rank, own in zip(ranks, np.minimum(values[best], values[:, best]), strict=True):
            of = f"{model}/0/layer2/{rank}"
            assert answer("sensitivity", "accuracy_direct", "truncation", of, "similarity") == pytest.approx(own)


def functional(network: nn.Module, source: Splits, target: Splits, store: Store) -> float:
    """The network's accuracy with the best affine image of one truncation in place of the other."""
    flat = [np.moveaxis(rows, 1, -1).reshape(-1, rows.shape[1]) for rows in (source[0], target[0], source[1])]
    one, other, asked = (np.column_stack([rows, np.ones(len(rows))]) for rows in flat)
    mapped = asked @ np.linalg.lstsq(one, other[:, :-1], rcond=1e-9)[0]
    given = np.moveaxis(mapped.reshape(64, *source[1].shape[2:], -1), -1, 1)
    put = network.get_submodule("layer2").register_forward_hook(lambda *_: torch.from_numpy(given).float())
    with put, torch.inference_mode():
        answers = network(
            read_prepared(paths.dataset("patches")).splits["test"].batch(slice(None), torch.device("cpu"))
        )
    return float((answers.argmax(1).numpy() == store.labels("test")).mean())


@pytest.mark.usefixtures("finished")
def test_other_ranks_and_another_decay_are_made_anew() -> None:
    trial.run(tried())
    scratch = paths.scratch("trial", "")
    first = set(scratch.iterdir())
    trials = copy.deepcopy(TRIALS)
    trials["sensitivity"]["ranks"] = [5, 3, 1]
    trial.run(tried(trials=trials))
    second = set(scratch.iterdir())
    trials["specificity"]["decay"] = 0.2
    trial.run(tried(trials=trials))

    assert len(first) == 2 * (1 + 1 + 1) + 6  # of two layers, probes, an index, the network; of six, a probe
    assert len(second - first) == 2 * (1 + 1 + 1)
    assert len(set(scratch.iterdir()) - second) == 6


@pytest.mark.usefixtures("finished")
def test_stitches_of_all_pairs_are_judged_by_their_accuracies_and_residuals() -> None:
    params = tried(stitch__pairs="all", stitches={"conv1x1": {"places": "bilinear"}}, detectors={})
    detect.run(params, "two", 0)
    for sender in params.senders:
        stitch.run(params, sender, "two", 0)
        audit.run(params, sender, "two", 0)

    trial.run(params)

    indices = {"linear_cka", "accuracy_task", "accuracy_direct", "residual_task", "residual_direct"}
    assert set(table("layer_identification")["index"]) == indices
    apart = pandas.read_csv(paths.audit("one", "two", 0) / "rows.csv").query("measure == 'distance'")
    for asked, part in (("sender_cut", "between"), ("receiver_cut", "between_columns")):
        nearest = apart.query("objective == 'direct'").sort_values("value").drop_duplicates(asked)
        found = answer("layer_identification", "residual_direct", part, "all", "value")
        assert found == (nearest["sender_cut"] == nearest["receiver_cut"]).mean()

    for sender in params.senders:  # where the two did not see the same images
        audited = pandas.read_csv(paths.distances(sender, "two", 0))
        audited[:0].to_csv(paths.distances(sender, "two", 0), index=False)
    trial.run(params)
    assert set(table("layer_identification")["index"]) == {"linear_cka", "accuracy_task", "accuracy_direct"}
    cells = pandas.read_csv(paths.cells("one", "two", 0)).query("measure == 'accuracy' and objective == 'direct'")
    held = []
    for cut, rows in cells.groupby("sender_cut"):
        best = rows[rows["value"] > rows["value"].max() - 1e-9]["receiver_cut"].tolist()
        held.append((cut in best) / len(best))
    found = answer("layer_identification", "accuracy_direct", "between", "all", "value")
    assert found == pytest.approx(np.mean(held))
    assert answer("layer_identification", "accuracy_direct", "between", "all", "count") == 3
    assert answer("layer_monotonicity", "accuracy_task", "within", "all", "count") == 2  # of two into itself


@pytest.mark.usefixtures("finished")
def test_a_cut_with_the_very_numbers_of_an_earlier_one_is_not_asked() -> None:
    """What a pool over all places leaves, and the same flattened."""
    changes = {"extract__cuts": ["layer1", "layer2", "avgpool", "flatten"]}
    for name in TINY["models"]:
        extract.run(study(**changes), name, 0, "patches")
    compare.run(study(**changes), "linear_cka")

    trial.run(tried(**changes))

    assert set(table("layer_identification").query("of != 'all'")["of"]) == {"layer1", "layer2", "avgpool"}


@pytest.mark.usefixtures("finished")
def test_a_study_without_trials_leaves_an_empty_folder_and_one_with_fewer_no_others() -> None:
    trial.run(tried())
    trial.run(tried(trials={"layer_monotonicity": INTERVAL}))
    fewer = [path.name for path in paths.TRIALS.iterdir()]
    trial.run(tried(trials={}))

    assert fewer == ["layer_monotonicity.csv"]
    assert list(paths.TRIALS.iterdir()) == []


@pytest.mark.usefixtures("finished")
def test_results_that_params_no_longer_name_are_tidied_away() -> None:
    stray = [paths.comparison("old"), paths.cells("three", "two", 0), paths.activations("three", 0, "patches") / "x"]
    for path in stray:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")

    trial.run(tried(trials={}))

    assert not any(path.exists() for path in stray)
    assert paths.comparison("linear_cka").exists() and paths.cells("one", "two", 0).exists()


@pytest.mark.usefixtures("finished")
def test_a_comparison_that_is_not_there_is_one_line() -> None:
    paths.comparison("linear_cka").unlink()

    with pytest.raises(DataError, match=r"linear_cka\.csv: no such file; `dvc repro` makes it"):
        trial.run(tried())


@pytest.mark.usefixtures("finished")
def test_an_eigenbasis_that_memory_has_no_room_for_is_refused() -> None:
    words = (
        r"trials: the eigenbasis of one/0/layer2, 8 features wide, needs 2\.05e-06 GB and has 1e-06; leave the cut out"
    )

    with pytest.raises(ResourceError, match=words):
        trial.run(tried(machine__memory_gb=1e-6))


def test_check_says_what_a_study_lacks_in_the_words_of_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[2] / "studies/tiny")
    other = {**TINY["models"], "two": {**TINY["models"]["two"], "weights": "random"}}
    trials = copy.deepcopy(TRIALS)
    trials["sensitivity"]["cuts"] = ["layer3"]

    found = [str(error) for error in check.check(tried(models=other, trials=trials))]

    assert found == [
        "seeds: [0] give no two networks that differ by chance alone, which trials.layer_identification compares; it "
        "should name another seed of a model that is trained",
        "trials.sensitivity.cuts: names layer3, which no model is cut at; did you mean layer2 or layer1?",
        "seeds: [0] give no two networks that differ by chance alone, which trials.specificity compares; it should "
        "name another seed of a model that is trained",
    ]
    assert check.check(tried()) == []
    assert [str(error) for error in check.check(tried(trials={"layer_identity": {}}))] == [
        "trials.layer_identity: layer_identity is not a known name; did you mean "
        "layer_identification or layer_monotonicity?"
    ]
