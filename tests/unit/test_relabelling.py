"""Samples of a stitch under other labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.arrays import Activations, Labels, Shape
from pipeline.params import Labelling
from pipeline.relabelling import relabelled
from tests.property.test_similarity import Held

PLAIN = Labelling(None, 0, None)


class Digits:
    digest = "digits"
    cuts = ("fc",)

    def shape(self, cut: str) -> Shape:
        return (1,)

    def labels(self, split: str) -> Labels:
        return np.arange(30) % 5

    def rows(self, split: str, cut: str) -> Activations:
        return Held(np.arange(30.0)[:, None])


def test_labels_as_they_are_leave_the_sender_as_it_is() -> None:
    sender = Digits()

    assert relabelled(sender, PLAIN, 5) is sender


@given(offset=st.integers(-12, 12), permutation=st.permutations(range(5)))
def test_offset_and_permutation_rename_classes_and_leave_rows(offset: int, permutation: list[int]) -> None:
    found = relabelled(Digits(), Labelling(None, offset, tuple(permutation)), 5)
    plain = Digits().labels("train")

    assert found.labels("train").tolist() == [permutation[(label + offset) % 5] for label in plain.tolist()]
    assert np.array_equal(found.rows("train", "fc").read(0, 30), Digits().rows("train", "fc").read(0, 30))


@given(classes=st.integers(2, 5), order=st.randoms())
def test_rows_of_some_classes_keep_their_labels(classes: int, order: object) -> None:
    found = relabelled(Digits(), Labelling(classes, 0, None), 5)
    rows, labels = found.rows("train", "fc"), found.labels("train")
    numbers = list(range(len(labels)))
    order.shuffle(numbers)  # pyright: ignore[reportAttributeAccessIssue]

    assert rows.shape == (6 * classes, 1)
    assert set(labels) == set(range(classes))
    assert np.array_equal(rows.take(np.array(numbers))[:, 0] % 5, labels[numbers])
    assert np.array_equal(rows.read(2, 5), rows.read(0, len(labels))[2:5])


def test_digests_tell_labellings_apart() -> None:
    ways = [Labelling(None, 1, None), Labelling(3, 0, None), Labelling(None, 0, (1, 0, 2, 3, 4))]

    assert len({relabelled(Digits(), way, 5).digest for way in ways}) == 3


@pytest.mark.parametrize("permutation", [(0, 0), (1, 2), (0, 2)])
def test_a_permutation_names_each_class_once(permutation: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"permutation: is .*; it should name each class from 0 on once"):
        Labelling(None, 0, permutation)
