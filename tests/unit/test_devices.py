"""The device asked for, or one line that says it is not there."""

import pytest
import torch

from pipeline.devices import choose
from pipeline.errors import ResourceError


def test_auto_takes_what_there_is_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    choose.cache_clear()  # it says so once a process, and another test may have asked

    device = choose("auto")

    assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert f"device: {device}" in caplog.text


@pytest.mark.parametrize("name", ["cuda:99", "mps"])
def test_a_named_device_that_is_missing_is_refused(name: str) -> None:
    if name == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has mps")

    with pytest.raises(ResourceError, match=rf"machine\.device: {name} is not there; this machine has cpu"):
        choose(name)


def test_choosing_a_device_makes_torch_deterministic() -> None:
    choose("cpu")

    assert torch.are_deterministic_algorithms_enabled()
