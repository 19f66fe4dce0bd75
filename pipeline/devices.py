"""Which device the work is done on."""

import logging
import os
from functools import cache

import torch

from pipeline.errors import ResourceError

log = logging.getLogger(__name__)


@cache
def choose(name: str) -> torch.device:
    """The device called `name`; `auto` takes cuda where there is one, and a named one that is missing is refused."""
    if name == "auto":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        log.info("device: %s", device)
    else:
        device = torch.device(name)
    _refuse_missing(name, device)
    _make_deterministic()
    return device


def _refuse_missing(name: str, device: torch.device) -> None:
    count = torch.cuda.device_count()
    missing = {
        "cuda": (device.index or 0) >= count,
        "mps": not torch.backends.mps.is_available(),
        "cpu": False,
    }[device.type]
    if missing:
        have = ["cpu", *(f"cuda:{k}" for k in range(count)), *(["mps"] if torch.backends.mps.is_available() else [])]
        raise ResourceError(f"machine.device: {name} is not there; this machine has {', '.join(have)}")


def _make_deterministic() -> None:
    # cuBLAS is deterministic only with a fixed workspace, which it reads from this variable at its first call.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Some layers have no deterministic backward pass on CUDA (adaptive pooling, for one): they warn, and run.
    # This spelling of use_deterministic_algorithms leaves torch.compile unimported, a second of every stage.
    torch.set_deterministic_debug_mode("warn")
