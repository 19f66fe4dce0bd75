"""What Python does not offer of the operating system."""

import ctypes
import mmap
import os
import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of malloc.h
_FALLOC_FL_KEEP_SIZE = 1  # of linux/falloc.h
_MAP_FIXED, _MAP_FAILED = 0x10, ctypes.c_void_p(-1).value  # of sys/mman.h, the same on Linux and macOS


def keep_memory() -> None:
    """Memory that tensors give back stays with the process.

    glibc returns every tensor above 32 MB to the system and asks for it again at the next layer: page by page, at
    up to a third of the time of a forward pass. Does nothing elsewhere than on Linux with glibc, like `reserve`.
    """
    if libc := _glibc():
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def reserve(file: int, size: int) -> None:
    """Disk for an open file that will grow to `size`, which makes appending to it up to twice as fast.

    The file's size stays what was written. A file system that cannot do it is left to do without.
    """
    if libc := _glibc():
        libc.fallocate(file, _FALLOC_FL_KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size))


def mapped(files: Sequence[Path], apart: int) -> np.ndarray:
    """The bytes of files as one read-only array, each file's first one `apart` bytes after the one's before.

    They are mapped into one anonymous map, which reads as zeros between them and takes all with it when it goes.
    """
    room = mmap.mmap(-1, apart * len(files), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
    whole = np.frombuffer(room, np.uint8)
    for number, path in enumerate(files):
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > apart:
                raise ValueError(f"{path} has {size} bytes, which is more than {apart}")
            _map(whole.ctypes.data + number * apart, size, file.fileno())
    return whole


def _map(address: int, size: int, file: int) -> None:
    """Maps a file's bytes for reading, in place of what is mapped at the address."""
    call = ctypes.CDLL(None, use_errno=True).mmap
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int], ctypes.c_long]
    if call(address, size, mmap.PROT_READ, mmap.MAP_SHARED | _MAP_FIXED, file, 0) == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@cache
def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
