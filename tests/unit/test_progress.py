"""A bar with a rate and an estimate where somebody watches, and silence where not."""

import io
import sys

import pytest

from pipeline.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_a_rate_and_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())

    assert list(progress(range(3), 6, "work", "batches", done=3)) == [0, 1, 2]

    assert "work: " in screen.getvalue()
    assert "3/6" in screen.getvalue()
    assert "batches/s" in screen.getvalue() or "? batches" in screen.getvalue()


def test_a_file_sees_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), 3, "work", "batches")) == [0, 1, 2]

    assert capfd.readouterr() == ("", "")
