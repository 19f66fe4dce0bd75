"""What all tests share."""

import os
import pkgutil
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

import pipeline

# Signatures are held to their shapes while tests run; but for networks, which are traced with no tensor in sight.
_CHECKED = [f"pipeline.{module.name}" for module in pkgutil.iter_modules(pipeline.__path__) if module.name != "models"]
install_import_hook(_CHECKED, "beartype.beartype")

settings.register_profile("shared", deadline=None)  # machines are shared: a slow example is not a wrong one
settings.load_profile("shared")


@pytest.fixture
def data_root() -> Path:
    """The folder of real raw files; tests that need it skip where there is none."""
    root = os.environ.get("BACKSTITCH_DATA_ROOT")
    if not root:
        pytest.skip("BACKSTITCH_DATA_ROOT names no folder of real data")
    return Path(root)


@pytest.fixture(autouse=True)
def _nothing_left_in_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in a folder of its own, as every study does."""
    monkeypatch.chdir(tmp_path)
