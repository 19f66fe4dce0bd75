"""Work behind the caller: in order, and its errors are the caller's."""

import threading

import pytest

from pipeline.behind import Behind


def test_calls_run_in_order_and_are_finished_at_the_end() -> None:
    found: list[int] = []

    with Behind(1) as later:
        for number in range(20):
            later(found.append, number)

    assert found == list(range(20))


def test_they_run_in_another_thread() -> None:
    found: list[int] = []

    with Behind() as later:
        later(lambda: found.append(threading.get_ident()))

    assert found != [threading.get_ident()]


def test_an_error_behind_is_raised_in_front_and_stops_the_rest() -> None:
    found: list[int] = []

    with pytest.raises(ZeroDivisionError), Behind(1) as later:
        later(lambda: 1 / 0)
        for number in range(50):
            later(found.append, number)

    assert found == []
