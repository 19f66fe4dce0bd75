"""glibc as other programs have it, beside a pipeline that keeps its memory."""

import ctypes
import platform

GLIBC = {-1: 2**26, -3: 2**25, -4: 2**16}  # trim and mmap thresholds where glibc's own adjustment ends, mmap's count


def give_memory_back() -> None:
    """Undoes `keep_memory`, so that the bare pass has the allocator it would have in a process of its own."""
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for setting, value in GLIBC.items():
            libc.mallopt(setting, value)
        libc.malloc_trim(0)
