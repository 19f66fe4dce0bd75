"""The layers of one comparison: each read and multiplied out once, then taken whole, in other orders, or in part."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from pipeline.arrays import Activations
from pipeline.factors import Compact, Factor, Room, compact, factor, room, some
from pipeline.views import LayerError, Of, Prepared, View, view_of_pair

EIGEN = 5  # arrays of its size that an eigenproblem holds at once: itself, its vectors twice, LAPACK's workspace
LEAST = 2**26  # bytes that an eigenproblem may always take
REST = 1e-12  # of what some samples vary, about the mean of all: what varies less is rounding noise


@dataclass(frozen=True)
class Seen:
    """One layer as an index sees it, some of its samples left out or none."""

    view: View
    room: Room
    whole: "Seen | None" = None  # of which `kept` are these rows
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, int))

    @property
    def number(self) -> int:
        return self.view.number

    @cached_property
    def compact(self) -> Compact:
        if self.whole is None:
            return compact(self.view, self.room)
        centred = self.view.prepared == "centred"
        found = some(self.whole.compact, self.kept, centred, self.room)
        before = self.whole.compact.diagonal()[self.kept].sum()
        if centred and not found.diagonal().sum() > REST * before:
            raise LayerError(self.number, "is the same for all samples but those left out; it has no jackknife")
        return found

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows in order, prepared as those of the whole layer, each block with its place among them."""
        if self.whole is None:
            yield from self.view.blocks()
            return
        for part, block in self.view.blocks():
            start, stop = np.searchsorted(self.kept, [part.start, part.stop])
            yield slice(start, stop), block[self.kept[start:stop] - part.start]


@dataclass(frozen=True)
class Layers:
    """All of the same samples in the same order."""

    activations: Sequence[Activations]
    room: Room
    whole: "Layers | None" = None
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    made: dict[tuple[int, str, str], Seen] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.activations)

    @property
    def samples(self) -> int:
        return self.activations[0].shape[0] if self.whole is None else len(self.kept)

    @property
    def as_they_are(self) -> np.ndarray:
        """The samples in their own order."""
        return np.arange(self.samples)

    def shape(self, number: int) -> tuple[int, ...]:
        """Of one sample."""
        return self.activations[number].shape[1:]

    def seen(self, number: int, of: str, prepared: Prepared = "centred") -> Seen:
        """A layer in one view; the same object every time."""
        key = number, of, prepared
        if key not in self.made:
            view = View(self.activations[number], number, of, prepared, self.room.memory)
            whole = None if self.whole is None else self.whole.seen(*key)
            self.made[key] = Seen(view, self.room, whole, rows_of_samples(self.kept, view.per_sample))
        return self.made[key]

    def compacts(self, of: str, prepared: Prepared) -> list[Compact]:
        return [self.seen(number, of, prepared).compact for number in range(len(self))]

    @contextmanager
    def without(self, left_out: np.ndarray) -> Iterator["Layers"]:
        """The same layers less some samples, from what is there of the whole ones."""
        with room(self.room.memory, self.room.used) as inner:
            yield Layers(self.activations, inner, self, np.setdiff1d(self.as_they_are, left_out))


@contextmanager
def opened(activations: Sequence[Activations], memory: int) -> Iterator[Layers]:
    """Layers that hold about `memory` bytes at a time."""
    with room(memory) as kept:
        yield Layers(activations, kept)


def rows_of_samples(samples: np.ndarray, per_sample: int) -> np.ndarray:
    """Of samples that have several rows each, in one piece, all rows."""
    return samples if per_sample == 1 else (samples[:, None] * per_sample + np.arange(per_sample)).ravel()


def expect_room(layers: Layers, of: Of) -> None:
    """Refuses a layer that is too large to be factorised, before any is."""
    for number in range(len(layers)):
        side = min(layers.seen(number, view_of_pair(of, *[layers.shape(number)] * 2) or of).view.shape)
        if EIGEN * 8 * side**2 > max(layers.room.memory, LEAST):
            needed = f"{EIGEN * 8 * side**2 / 1e9:.3g} GB"
            raise LayerError(
                number,
                f"has the smaller of samples and features at {side}, to factorise which takes {needed}; set "
                f"machine.memory_gb to that or more, or `of` to what has fewer features",
            )


def factored(seen: Seen) -> Factor:
    return factor(seen.compact, seen.room)


def loaded(seen: Seen) -> Factor:
    """With loadings."""
    found = factored(seen)
    loadings = seen.room.empty(len(found.scales), seen.view.shape[1])
    loadings[:] = 0
    for part, block in seen.blocks():
        loadings += found.basis[part].T @ block
    return found._replace(loadings=loadings)


@runtime_checkable
class Movable(Protocol):
    def moved(self, order: np.ndarray, room: Room) -> Any:
        """With the rows in another order."""
        ...


T = TypeVar("T", bound=Movable)


def by_factors(
    layers: Layers,
    of: Of,
    orders: Iterable[np.ndarray],
    make: Callable[[Seen], Factor],
    value: Callable[[Factor, Factor, Room], float],
    symmetric: bool,
) -> Iterator[np.ndarray]:
    """`by_pairs` of factorised layers, for which there must be room."""
    expect_room(layers, of)
    return by_pairs(layers, of, orders, make, value, symmetric)


def by_pairs(
    layers: Layers,
    of: Of,
    orders: Iterable[np.ndarray],
    make: Callable[[Seen], T],
    value: Callable[[T, T, Room], float],
    symmetric: bool,
) -> Iterator[np.ndarray]:
    """For each order, `value` of what `make` makes of each layer, once, and of each in that order.

    NaN for pairs that have no view in common.
    """
    made: dict[tuple[int, str], T] = {}

    def layer(number: int, view: str) -> T:
        if (number, view) not in made:
            made[number, view] = make(layers.seen(number, view))
        return made[number, view]

    for order in orders:
        matrix = np.full((len(layers), len(layers)), np.nan)
        for other in range(len(layers)):
            views = {
                one: view
                for one in range(other + 1 if symmetric else len(layers))
                if (view := view_of_pair(of, layers.shape(one), layers.shape(other))) is not None
            }
            for view in dict.fromkeys(views.values()):
                ones = [one for one in views if views[one] == view]
                whole = {number: layer(number, view) for number in (*ones, other)}
                with room(layers.room.memory, layers.room.used) as there:
                    moved = _moved(whole[other], order, layers.seen(other, view).view.per_sample, there)
                    for one in ones:
                        matrix[one, other] = value(whole[one], moved, there)
        yield mirrored(matrix) if symmetric else matrix


def _moved(layer: T, order: np.ndarray, per_sample: int, room: Room) -> T:
    if np.array_equal(order, np.arange(len(order))):
        return layer
    return layer.moved(rows_of_samples(order, per_sample), room)


def mirrored(matrix: np.ndarray) -> np.ndarray:
    """Symmetric, from what is above its diagonal."""
    return np.where(np.tri(len(matrix), k=-1, dtype=bool), matrix.T, matrix)
