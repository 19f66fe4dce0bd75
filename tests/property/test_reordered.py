"""Every index of samples that are reordered or left out, against the index of layers written out so."""

from itertools import product

import numpy as np
import pytest

from pipeline.layers import opened
from pipeline.similarity import INDICES, linear_cka
from pipeline.views import LayerError
from tests.property.test_similarity import CASES, Held, every_case, index, layers

POSITIONS = ("linear_cka", "mean_cca", "svcca", "pwcca", "procrustes", "least_squares")
LITTLE, MUCH = 10_000, 10**9  # bytes: everything streams, and nothing does
NEAR = 1e-7  # of an arc cosine near 1, half the digits
memories = pytest.mark.parametrize("memory", [LITTLE, MUCH])


def three(samples: int = 24) -> list[np.ndarray]:
    """Layers narrower and wider than samples are many, the last of low rank."""
    x, y, random = layers(5, samples, 5, samples + 12)
    return [x, y, x[:, :2] @ random.standard_normal((2, 9))]


def written_out(name: str, options: dict, rows: list[np.ndarray], orders: list[np.ndarray]) -> list[np.ndarray]:
    """For each order the index of each layer and each permuted one, a pair at a time."""
    measure, places = index(name, options), range(len(rows))
    found = []
    for order in orders:
        matrix = np.empty((len(rows), len(rows)))
        for one, other in product(places, places):
            if one > other and measure.facts().symmetric:
                matrix[one, other] = matrix[other, one]
            else:
                matrix[one, other] = measure.matrix([Held(rows[one]), Held(rows[other][order])], MUCH)[0, 1]
        found.append(matrix)
    return found


@memories
@every_case
def test_samples_in_another_order_are_those_of_a_layer_written_out_in_it(name: str, options: dict, memory: int) -> None:
    rows, random = three(), np.random.default_rng(1)
    orders = [np.arange(24), random.permutation(24), random.permutation(24)]
    measure = index(name, options)
    wanted = written_out(name, options, rows, orders)

    with opened([Held(x) for x in rows], memory) as seen:
        found = list(measure.matrices(seen, orders))

    assert len(found) == len(orders)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=NEAR)


@memories
@every_case
def test_layers_without_some_samples_are_those_of_the_rest(name: str, options: dict, memory: int) -> None:
    rows, out = three(), np.array([0, 3, 4, 17, 23])
    rest = np.setdiff1d(np.arange(24), out)
    measure = index(name, options)
    wanted = measure.matrix([Held(x[rest]) for x in rows], MUCH)

    with opened([Held(x) for x in rows], memory) as seen, seen.without(out) as some:
        (found,) = measure.matrices(some, [some.as_they_are])

    assert found == pytest.approx(wanted, abs=NEAR)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_linear_cka_of_many_narrow_layers_is_the_same_by_tables_of_samples(
    estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    rows = [random.standard_normal((60, 16)) for _ in range(12)]
    orders = [np.arange(60), *(random.permutation(60) for _ in range(20))]
    measure = index("linear_cka", {"estimator": estimator, "of": "flattened"})
    ways, found = [], []
    for memory in (LITTLE, MUCH):
        with opened([Held(x) for x in rows], memory) as seen:
            ways.append(linear_cka._tabled(seen, "flattened", len(orders)))
            found.append(list(measure.matrices(seen, orders)))

    assert ways == [False, True]
    assert np.stack(found[0]) == pytest.approx(np.stack(found[1]), abs=1e-12)


@memories
@pytest.mark.parametrize("name", POSITIONS)
def test_all_places_of_a_sample_go_together(name: str, memory: int) -> None:
    (options,) = [each for key, each in CASES if key == name][:1]
    options = {**options, "of": "positions"}
    random = np.random.default_rng(2)
    maps = [random.standard_normal((12, c, 2, 3)) for c in (3, 5)]
    order, out = random.permutation(12), np.array([2, 7])
    measure, rest = index(name, options), np.setdiff1d(np.arange(12), out)

    with opened([Held(x) for x in maps], memory) as seen:
        (found,) = measure.matrices(seen, [order])
        with seen.without(out) as some:
            (left,) = measure.matrices(some, [some.as_they_are])

    assert found[0, 1] == pytest.approx(measure.matrix([Held(maps[0]), Held(maps[1][order])], MUCH)[0, 1], abs=NEAR)
    assert left == pytest.approx(measure.matrix([Held(x[rest]) for x in maps], MUCH), abs=NEAR)


def test_a_layer_that_is_the_same_but_for_samples_left_out_is_refused() -> None:
    rows = np.ones((12, 3))
    rows[4] = 2.0

    for name, width in product(("linear_cka", "least_squares"), (3, 30)):
        options = next(each for key, each in CASES if key == name)
        held = [Held(np.random.default_rng(0).standard_normal((12, 3))), Held(np.tile(rows, width // 3))]
        wrong = pytest.raises(LayerError, match="layer 1 is the same for all samples but those left out; it has no")
        with opened(held, MUCH) as seen, seen.without(np.array([4, 5])) as some, wrong:
            next(iter(index(name, options).matrices(some, [some.as_they_are])))


def test_every_index_is_here() -> None:
    assert {name for name, _ in CASES} == set(INDICES)
