"""Every random number descends from the study's one seed and the name of what it is for."""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np


def seed_for(root: int, *names: object) -> int:
    """A seed that depends on the names alone, so that a new variant shifts nobody's stream."""
    text = "/".join([str(root), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(root: int, *names: object) -> np.random.Generator:
    """NumPy's generator for these names; used where torch is not wanted."""
    return np.random.Generator(np.random.PCG64(seed_for(root, *names)))


@contextmanager
def seeded(seed: int) -> Generator[None, None, None]:
    """Torch's global generator set to `seed` inside, and put back afterwards.

    For the places where torch takes no generator: layer initialisation and dropout.
    """
    import torch

    with torch.random.fork_rng():  # pyright: ignore[reportUnknownMemberType]
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        yield
