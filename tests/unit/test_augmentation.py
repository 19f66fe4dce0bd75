"""Augmentations do what their names say, image by image."""

import numpy as np
import pytest

from pipeline.augmentation import AUGMENTATIONS, composed
from pipeline.errors import ParamsError

IMAGES = np.random.default_rng(0).integers(1, 256, (200, 3, 8, 6), dtype=np.uint8)


def changed(name: str, seed: int = 0) -> np.ndarray:
    return composed("augment", [name])(IMAGES, np.random.default_rng(seed))


def test_flip_mirrors_about_half_of_the_images_and_keeps_the_rest() -> None:
    flipped = changed("flip")

    kept = (flipped == IMAGES).all((1, 2, 3))
    mirrored = (flipped == IMAGES[..., ::-1]).all((1, 2, 3))
    assert (kept ^ mirrored).all()
    assert 70 < kept.sum() < 130


@pytest.mark.parametrize("reach", [2, 4])
def test_shift_moves_each_image_by_at_most_its_reach_and_uncovers_black(reach: int) -> None:
    shifted = changed(f"shift{reach}")

    places = set()
    for image, moved in zip(IMAGES, shifted, strict=True):
        padded = np.pad(image, ((0, 0), (reach, reach), (reach, reach)))
        found = [
            (down, across)
            for down in range(2 * reach + 1)
            for across in range(2 * reach + 1)
            if np.array_equal(padded[:, down : down + 8, across : across + 6], moved)
        ]
        assert found
        places.add(found[0])
    assert len(places) > reach**2


def test_cutout_blackens_one_square_of_each_image() -> None:
    cut = changed("cutout4")

    black = (cut == 0).all(1)
    assert (black.sum((1, 2)) == 16).all()
    assert (cut[:, 0][~black] == IMAGES[:, 0][~black]).all()
    for hole in black:
        rows, columns = np.flatnonzero(hole.any(1)), np.flatnonzero(hole.any(0))
        assert (np.ptp(rows), np.ptp(columns)) == (3, 3)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_draws_follow_the_generator_alone(name: str) -> None:
    before = IMAGES.copy()

    assert np.array_equal(changed(name, 1), changed(name, 1))
    assert not np.array_equal(changed(name, 1), changed(name, 2))
    assert np.array_equal(IMAGES, before)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        ParamsError, match=r"recipes\.sgd\.augment: shift3 is not a known augmentation; did you mean shift"
    ):
        composed("recipes.sgd.augment", ["shift3"])
