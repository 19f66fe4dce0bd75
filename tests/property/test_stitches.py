"""What every stitch does, whatever it joins, and what closed forms find."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.moments import moments, own_moments
from pipeline.objectives.base import Joint
from pipeline.objectives.direct import Direct
from pipeline.objectives.match import Match
from pipeline.objectives.task import Task
from pipeline.params import Recipe
from pipeline.randomness import seeded
from pipeline.stitches.base import Joining, Stitch
from pipeline.stitches.bn_conv_bn import BnConvBn
from pipeline.stitches.conv1x1 import Conv1x1
from pipeline.stitches.convolution import Convolution
from pipeline.stitches.low_rank import LowRank
from pipeline.stitches.orthogonal import Orthogonal
from pipeline.stitches.places import Places
from pipeline.training import Feed, fit
from tests.property.test_similarity import Held

VARIANTS = {
    "conv1x1": Conv1x1,
    "bn_conv_bn": BnConvBn,
    "convolution": lambda places: Convolution(places, kernel=3),
    "low_rank": lambda places: LowRank(places, rank=1),
    "orthogonal": Orthogonal,
}
maps = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
tokens = st.tuples(st.sampled_from([1, 4, 5, 9, 10]), st.integers(1, 5))
shapes = st.one_of(maps, tokens, st.tuples(st.integers(1, 6)))
RANDOM = np.random.default_rng(11)


def rows(samples: int, shape: tuple[int, ...]) -> np.ndarray:
    return RANDOM.standard_normal((samples, *shape)).astype(np.float32)


def built(variant: Stitch, source: tuple[int, ...], target: tuple[int, ...]) -> Joining:
    with seeded(3):
        try:
            return variant.build(source, target)
        except ValueError:
            assume(False)
            raise


@torch.inference_mode()
def arranged(stitch: Joining, x: np.ndarray) -> np.ndarray:
    """A source's rows with the places of the target's."""
    return stitch.after(stitch.before(torch.from_numpy(np.array(x)))).numpy()


@given(
    name=st.sampled_from(list(VARIANTS)), places=st.sampled_from(["keep", "bilinear", "strided"]), a=shapes, b=shapes
)
def test_what_is_built_has_the_targets_shape_and_what_is_not_says_why(
    name: str, places: str, a: tuple, b: tuple
) -> None:
    try:
        stitch = VARIANTS[name](places).build(a, b)
    except ValueError as error:
        assert str(error)
        return

    assert stitch.eval()(torch.randn(3, *a)).shape == (3, *b)
    assert arranged(stitch, rows(3, a)).shape[2:] == (3, *b)[2:] or len(b) != 3


@given(a=shapes, b=shapes)
def test_bilinear_joins_any_two_shapes(a: tuple, b: tuple) -> None:
    assert Conv1x1("bilinear").build(a, b)(torch.randn(2, *a)).shape == (2, *b)


@given(a=shapes, b=shapes, places=st.sampled_from(["bilinear", "strided"]))
def test_arranging_may_come_before_or_after_the_map(a: tuple, b: tuple, places: Places) -> None:
    """Which is why the closed form of the arranged source is that of the whole stitch."""
    stitch = built(Conv1x1(places), a, b)
    x = rows(4, a)

    with torch.inference_mode():
        whole = stitch(torch.from_numpy(x)).numpy()
        after = stitch.core(torch.from_numpy(arranged(stitch, x))).numpy()

    assert whole == pytest.approx(after, abs=1e-4)


@given(a=shapes, b=shapes, places=st.sampled_from(["bilinear", "strided"]), seed=st.integers(0, 99))
def test_moments_are_those_of_the_arranged_source(a: tuple, b: tuple, places: Places, seed: int) -> None:
    """However few places they were computed at."""
    stitch, random = built(Conv1x1(places), a, b), np.random.default_rng(seed)
    x, y = (random.normal(3, 2, (7, *shape)).astype(np.float32) for shape in (a, b))

    (found,) = moments(Held(x), [Held(y)], stitch.pairing)
    (wanted,) = moments(Held(arranged(stitch, x)), [Held(y)])
    with torch.inference_mode():
        inputs = own_moments(Held(stitch.before(torch.from_numpy(x)).numpy()))

    assert found.source.count == wanted.source.count
    assert found.source.mean == pytest.approx(wanted.source.mean, abs=1e-4)
    assert found.source.products == pytest.approx(wanted.source.products, rel=1e-4, abs=1e-2)
    assert found.cross == pytest.approx(wanted.cross, rel=1e-4, abs=1e-2)
    assert found.mean == pytest.approx(wanted.mean)
    assert found.inputs.products == pytest.approx(inputs.products)


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_convolution_is_that_of_torch_and_is_found_by_least_squares(kernel: int) -> None:
    """On images of noise, where a convolution of that size made the target."""
    stitch = Convolution("keep", kernel).build((3, 6, 5), (4, 6, 5))
    weight, bias = torch.randn(4, 3, kernel, kernel), torch.randn(4)
    x = rows(80, (3, 6, 5))
    y = torch.nn.functional.conv2d(torch.from_numpy(x), weight, bias, padding=kernel // 2)

    own = stitch.core.state_dict()
    wanted = torch.nn.functional.conv2d(
        torch.from_numpy(x), own["weight"].reshape(4, 3, kernel, kernel), own["bias"], padding=kernel // 2
    )
    assert torch.allclose(stitch(torch.from_numpy(x)), wanted, atol=1e-5)
    (found,) = moments(Held(x), [Held(y.numpy())], stitch.pairing)
    stitch.solve(found, found.affine(1e-9))
    assert torch.allclose(stitch(torch.from_numpy(x)), y, atol=1e-3)


def test_a_strided_stitch_is_the_strided_convolution_of_hernandez() -> None:
    stitch, x = Conv1x1("strided").build((3, 8, 8), (5, 4, 4)), torch.randn(2, 3, 8, 8)
    weight = stitch.core.state_dict()["weight"].reshape(5, 3, 2, 2)

    wanted = torch.nn.functional.conv2d(x, weight, stitch.core.state_dict()["bias"], stride=2)

    assert torch.allclose(stitch(x), wanted, atol=1e-5)


def test_a_class_token_is_the_mean_and_is_left_out_again() -> None:
    into = Conv1x1("bilinear").build((3, 2, 2), (5, 3))
    back = Conv1x1("bilinear").build((5, 3), (3, 2, 2))
    x = rows(2, (3, 2, 2))

    tokens = arranged(into, x)

    assert tokens[:, 1:] == pytest.approx(x.reshape(2, 3, 4).transpose(0, 2, 1))
    assert tokens[:, 0] == pytest.approx(x.mean((2, 3)), abs=1e-6)
    assert arranged(back, tokens) == pytest.approx(x)


def joint(x: np.ndarray, y: np.ndarray, recipe: Recipe | None = None, tail: torch.nn.Module | None = None) -> Joint:
    """Of these activations, labels being what the tail would say of y."""
    held, towards = Held(x), {"activations": torch.from_numpy(y)}
    tail = tail or torch.nn.Identity()

    def descend(module: torch.nn.Module, loss: object, kind: str) -> None:
        wanted = towards["activations"] if kind == "activations" else tail(towards["activations"]).argmax(1)
        feed = Feed(len(x), lambda at, _: (torch.from_numpy(x)[at], wanted[at]))
        fit(module, loss, feed, recipe, 0, "a stitch")  # pyright: ignore[reportArgumentType]

    def found(stitch: Joining) -> Joint:
        return Joint(
            tail, lambda _: moments(held, [Held(y)], stitch.pairing)[0],
            lambda: own_moments(held, stitch.pairing), lambda _: own_moments(Held(y)), descend,
            recipe.weight_decay if recipe else 0.0, None, lambda _: torch.empty(0), lambda _: torch.empty(0),
        )  # fmt: skip

    return found  # pyright: ignore[reportReturnType]


def solved(variant: Stitch, x: np.ndarray, y: np.ndarray, **options: object) -> Joining:
    stitch = variant.build(x.shape[1:], y.shape[1:])
    direct = Direct(**{"cutoff": 1e-6, "samples": None, "source_rank": None, "target_rank": None, **options})
    direct.fit(stitch, joint(x, y)(stitch))  # pyright: ignore[reportCallIssue]
    return stitch.eval()


@torch.inference_mode()
def applied(stitch: Joining, x: np.ndarray) -> np.ndarray:
    return stitch(torch.from_numpy(x)).numpy()


@pytest.mark.parametrize("name", ["conv1x1", "bn_conv_bn", "orthogonal"])
@pytest.mark.parametrize("shape", [(4, 3, 3), (9, 5), (6,)])
def test_a_full_rank_layer_into_itself_is_the_identity(name: str, shape: tuple) -> None:
    x = rows(60, shape)

    assert applied(solved(VARIANTS[name]("keep"), x, x), x) == pytest.approx(x, abs=1e-4)


@pytest.mark.parametrize(("source", "target"), [((4, 6, 6), (5, 3, 3)), ((4, 3, 3), (5, 6, 6)), ((9, 4), (3, 3, 3))])
def test_what_an_affine_map_of_the_arranged_source_made_is_found_again(source: tuple, target: tuple) -> None:
    maker, x = Conv1x1("bilinear").build(source, target), rows(50, source)
    y = applied(maker, x)

    for variant in (Conv1x1("bilinear"), BnConvBn("bilinear")):
        assert applied(solved(variant, x, y), x) == pytest.approx(y, abs=1e-4)


def test_an_orthogonal_map_is_recovered() -> None:
    turn = np.linalg.qr(RANDOM.standard_normal((6, 4)))[0]
    x = rows(80, (4, 2, 2))
    y = (np.einsum("ec,nchw->nehw", turn, x) + 3).astype(np.float32)

    stitch = solved(Orthogonal("keep"), x, y)

    assert stitch.core.weight().detach().numpy() == pytest.approx(turn, abs=1e-5)  # pyright: ignore
    assert applied(stitch, x) == pytest.approx(y, abs=1e-4)


def test_an_orthogonal_stitch_stays_orthogonal_while_it_learns() -> None:
    stitch, x, y = Orthogonal("keep").build((4,), (6,)), rows(64, (4,)), rows(64, (6,))
    Match("descent", None).fit(stitch, joint(x, y, RECIPE)(stitch))  # pyright: ignore[reportCallIssue]

    core = stitch.core
    weight = core.weight()  # pyright: ignore
    assert torch.allclose(weight.T @ weight, torch.eye(4), atol=1e-5)
    assert core.turn.abs().max() > 1e-3  # pyright: ignore


def test_an_orthogonal_stitch_learns_a_map_into_directions_that_it_did_not_begin_with() -> None:
    """From a start of its own: descent from some others needs more steps."""
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.standard_normal((6, 3)))[0]
    x = random.standard_normal((256, 3)).astype(np.float32)
    y = (x @ turn.T).astype(np.float32)
    with seeded(0):
        stitch = Orthogonal("keep").build((3,), (6,))

    recipe = replace(RECIPE, optimiser="adam", lr=0.05, weight_decay=0.0, epochs=300)
    Match("descent", None).fit(stitch, joint(x, y, recipe)(stitch))  # pyright: ignore[reportCallIssue]

    assert stitch.core.weight().detach().numpy() == pytest.approx(turn, abs=0.01)  # pyright: ignore


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_low_rank_solution_is_the_best_of_its_rank(rank: int) -> None:
    """Eckart and Young on what the free solution predicts."""
    x, y = RANDOM.standard_normal((300, 5)) @ RANDOM.standard_normal((5, 5)), RANDOM.standard_normal((300, 3))
    y += x[:, :3]
    x, y = x.astype(np.float32), y.astype(np.float32)
    centred_x, centred_y = x - x.mean(0), y - y.mean(0)
    free = centred_x @ np.linalg.lstsq(centred_x, centred_y)[0]
    left, sizes, right = np.linalg.svd(free, full_matrices=False)
    wanted = (left[:, :rank] * sizes[:rank]) @ right[:rank]

    found = applied(solved(LowRank("keep", rank=rank), x, y), x)

    assert found == pytest.approx(wanted + y.mean(0), abs=1e-3)


def test_truncating_the_source_is_regression_on_its_first_components() -> None:
    x = (RANDOM.standard_normal((200, 6)) * [9, 7, 5, 3, 2, 1]).astype(np.float32)
    y = rows(200, (4,)) + x[:, :4]
    left, sizes, right = np.linalg.svd(x.astype(float) - x.mean(0), full_matrices=False)
    first = (left[:, :2] * sizes[:2]) @ right[:2]
    wanted = first @ np.linalg.lstsq(first, y - y.mean(0))[0] + y.mean(0)

    assert applied(solved(Conv1x1("keep"), x, y, source_rank=2), x) == pytest.approx(wanted, abs=1e-3)


def test_truncating_the_target_leaves_nothing_off_its_first_components() -> None:
    x, y = rows(200, (6,)), (RANDOM.standard_normal((200, 4)) * [9, 7, 2, 1]).astype(np.float32)
    y += x[:, :4]
    right = np.linalg.svd(y - y.mean(0), full_matrices=False)[2]

    found = applied(solved(Conv1x1("keep"), x, y, target_rank=2), x) - y.mean(0)

    assert found @ right[2:].T == pytest.approx(0, abs=1e-4)


RECIPE = Recipe("sgd", 0.1, 0.9, 0.01, "matrices", "cosine", (), 0, 150, 64)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_matching_by_descent_ends_at_its_exact_form(decay: float) -> None:
    x, y = rows(256, (5,)), rows(256, (3,))
    y += x[:, :3]
    recipe = replace(RECIPE, weight_decay=decay)
    found = {}
    for by in ("descent", "exact"):
        stitch = Conv1x1("keep").build((5,), (3,))
        Match(by, None).fit(stitch, joint(x, y, recipe)(stitch))  # pyright: ignore
        found[by] = stitch.core.state_dict()

    assert torch.allclose(found["descent"]["weight"], found["exact"]["weight"], atol=5e-3)
    assert torch.allclose(found["descent"]["bias"], found["exact"]["bias"], atol=5e-3)
    free = np.linalg.lstsq(x - x.mean(0), y - y.mean(0))[0].T
    assert np.allclose(found["exact"]["weight"], free, atol=1e-4) == (decay == 0)


@pytest.mark.parametrize("start", ["random", "identity", "direct"])
def test_task_learns_from_each_of_its_starts(start: str) -> None:
    torch.manual_seed(0)
    tail = torch.nn.Linear(6, 4).requires_grad_(False)
    y = rows(300, (6,))
    turn = np.linalg.qr(RANDOM.standard_normal((6, 6)))[0].astype(np.float32)
    x = y @ turn
    stitch = Conv1x1("keep").build((6,), (6,)).train()

    recipe = replace(RECIPE, weight_decay=0.0, epochs=100)
    Task(start, 0.0, 0, None).fit(stitch, joint(x, y, recipe, tail)(stitch))  # pyright: ignore

    right = tail(torch.from_numpy(applied(stitch, x))).argmax(1) == tail(torch.from_numpy(y)).argmax(1)
    assert right.float().mean() > 0.85


def test_an_l1_penalty_makes_a_sparser_stitch() -> None:
    torch.manual_seed(0)
    tail, y = torch.nn.Linear(6, 4).requires_grad_(False), rows(300, (6,))
    sizes = []
    for l1 in (0.0, 0.1):
        with seeded(1):
            stitch = Conv1x1("keep").build((6,), (6,))
        Task("random", l1, 0, None).fit(stitch, joint(y, y, replace(RECIPE, weight_decay=0.0, epochs=20), tail)(stitch))  # pyright: ignore
        sizes.append(sum(float(p.detach().abs().sum()) for p in stitch.parameters()))

    assert sizes[1] < sizes[0] / 3


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [(n, s, t) for n, (s, t) in product(["conv1x1", "bn_conv_bn"], [((4, 3, 3), (5, 3, 3))])],
)
def test_there_is_no_identity_between_different_numbers_of_features(name: str, source: tuple, target: tuple) -> None:
    with pytest.raises(ValueError, match="there is no identity from 4 features to 5"):
        VARIANTS[name]("keep").build(source, target).identity()


def test_a_map_of_low_rank_is_no_identity() -> None:
    with pytest.raises(ValueError, match="a map of rank 2 is no identity of 4 features"):
        LowRank("keep", rank=2).build((4,), (4,)).identity()


@pytest.mark.parametrize("name", ["conv1x1", "bn_conv_bn", "orthogonal"])
@pytest.mark.parametrize(("source", "target"), [((4, 3, 3), (4, 3, 3)), ((4, 3, 3), (4, 6, 6)), ((4,), (4,))])
def test_a_stitch_that_begins_at_the_identity_is_it_in_training_too(name: str, source: tuple, target: tuple) -> None:
    x = 3 + 2 * rows(500, source)
    stitch = VARIANTS[name]("bilinear").build(source, target)
    stitch.begin_at_identity(lambda: own_moments(Held(x), stitch.pairing))
    wanted = arranged(stitch, x)

    with torch.inference_mode():
        assert stitch.eval()(torch.from_numpy(x)).numpy() == pytest.approx(wanted, abs=1e-3)
        assert stitch.train()(torch.from_numpy(x)).numpy() == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("source", "target"), [((4, 3, 3), (4, 3, 3)), ((4, 3, 3), (5, 6, 6)), ((4, 6, 6), (5, 3, 3))])
def test_a_solved_stitch_with_norms_is_the_same_in_training(source: tuple, target: tuple) -> None:
    x = 3 + 2 * rows(500, source)
    y = arranged(Conv1x1("bilinear").build(source, target), x)
    stitch = solved(BnConvBn("bilinear"), x, rows(500, target) if y.shape[1:] != target else y)
    found = applied(stitch, x)

    with torch.inference_mode():
        assert stitch.train()(torch.from_numpy(x)).numpy() == pytest.approx(found, abs=2e-3)


@pytest.mark.parametrize(
    ("variant", "source", "target", "words"),
    [
        (Conv1x1("keep"), (4, 3, 3), (4, 6, 6), "places are to be kept, and a map of 3×3 places cannot"),
        (Conv1x1("strided"), (4, 7, 7), (4, 3, 3), "a stride is a whole number"),
        (Conv1x1("strided"), (4, 4, 4), (16, 4), "not a map of 4×4 places to 16 tokens"),
        (Conv1x1("strided"), (3,), (5, 4, 4), "not a flat layer to a map of 4×4 places"),
        (Conv1x1("bilinear"), (7, 4), (4, 4, 4), "7 tokens are no square grid"),
        (LowRank("keep", rank=5), (4,), (9,), "a rank of 5 is above the 4"),
        (Orthogonal("keep"), (5,), (4,), "an orthogonal map cannot take 5 features to 4"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_says_why(variant: Stitch, source: tuple, target: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        variant.build(source, target)


@pytest.mark.parametrize(("rank", "kept"), [(2, 3), (3, 2)])
def test_a_map_of_low_rank_is_the_best_towards_a_truncated_target(rank: int, kept: int) -> None:
    """By brute force: the truncated target's own fit, and of its predictions the first directions."""
    x, noise = rows(300, (6,)), rows(300, (5,))
    y = (x @ RANDOM.standard_normal((6, 5)) + 2 * noise + 3).astype(np.float32)
    centre = y.astype(np.float64) - y.mean(0, dtype=np.float64)
    inside = np.linalg.svd(centre, full_matrices=False)[2][:kept]
    ones = np.column_stack([x.astype(np.float64), np.ones(len(x))])
    fit = ones @ np.linalg.lstsq(ones, centre @ inside.T @ inside)[0]
    left, sizes, right = np.linalg.svd(fit, full_matrices=False)
    wanted = (left[:, :rank] * sizes[:rank]) @ right[:rank] + y.mean(0, dtype=np.float64)

    found = applied(solved(LowRank("keep", rank=rank), x, y, target_rank=kept), x)

    assert found == pytest.approx(wanted, abs=1e-3)
