"""What Python does not offer of the operating system; elsewhere than on Linux with glibc, these do nothing."""

import ctypes
import platform
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of malloc.h
_FALLOC_FL_KEEP_SIZE = 1  # of linux/falloc.h


def keep_memory() -> None:
    """Memory that tensors give back stays with the process.

    glibc returns every tensor above 32 MB to the system and asks for it again at the next layer: page by page, at
    up to a third of the time of a forward pass.
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


@cache
def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
