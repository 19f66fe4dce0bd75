"""Whole studies, run by DVC as a user runs them."""

import shutil
from pathlib import Path

import pytest

from tests.pipeline.checkout import Checkout, fresh


@pytest.fixture(scope="session")
def _reproduced(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = fresh(tmp_path_factory.mktemp("reproduced") / "project")
    checkout.repro()
    checkout.commit()
    return checkout


@pytest.fixture
def reproduced(_reproduced: Checkout, tmp_path: Path) -> Checkout:
    """The tiny study, reproduced and committed; this test's own copy."""
    shutil.copytree(_reproduced.top, tmp_path / "project", symlinks=True)
    return Checkout(tmp_path / "project")
