"""Objects through shared memory: the writer fills it, the host seals it, and the reader maps it."""

import ctypes
import mmap
import os
from typing import Any

SMALL_BYTES = 1 << 16
"""A blob of at most this size is copied: a mapping would cost more."""
_PRIVATE, _NO_RESERVE, _FAILED = 0x02, 0x4000, ctypes.c_void_p(-1).value
_WRITABLE = 0x200
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_view = ctypes.pythonapi.PyMemoryView_FromMemory
_view.restype = ctypes.py_object
_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def fill(descriptor: int, encoded: Any) -> None:
    """Write a blob into shared memory of its size."""
    with mmap.mmap(descriptor, encoded.size) as memory, memoryview(memory) as target:
        encoded.write(target)


def take(descriptor: int, size: int) -> memoryview:
    """Return sealed memory, writable for this process alone, and close its descriptor.

    Python's own mapping would keep a duplicate of the descriptor, by whose position a block could remember something.
    This one lasts as long as the process.
    """
    try:
        if size <= SMALL_BYTES:
            return memoryview(bytearray(os.pread(descriptor, size, 0)))
        flags = _PRIVATE | _NO_RESERVE
        address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), f"cannot map {size} bytes")
        return _view(address, size, _WRITABLE)
    finally:
        os.close(descriptor)
