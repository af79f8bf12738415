"""Objects through shared memory: written, sealed by the host, mapped."""

import ctypes
import mmap
import os
from typing import Any

SMALL_BYTES = 1 << 16
"""A blob of at most this size is copied: a mapping would cost more."""
_PRIVATE = 0x02
_NO_RESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def fill(descriptor: int, encoded: Any) -> None:
    """Write a blob into shared memory of its size."""
    with mmap.mmap(descriptor, encoded.size) as memory, memoryview(memory) as target:
        encoded.write(target)


def take(descriptor: int, size: int) -> memoryview:
    """Return what `view` does, and close the descriptor."""
    try:
        return view(descriptor, size)
    finally:
        os.close(descriptor)


def view(descriptor: int, size: int) -> memoryview:
    """Return sealed memory as a private copy or mapping.

    The mapping ends with the last value that uses it. Python's own would keep a duplicate of the descriptor, by whose
    position a block could remember something. Raises `OSError` where there is no room.
    """
    if size <= SMALL_BYTES:
        return memoryview(bytearray(os.pread(descriptor, size, 0)))
    address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, _PRIVATE | _NO_RESERVE, descriptor, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), f"cannot map {size} bytes")
    unmap = {"__del__": lambda mapped, unmap=_libc.munmap: unmap(ctypes.addressof(mapped), size)}
    kind: Any = type("Mapped", (ctypes.c_ubyte * size,), unmap)
    return memoryview(kind.from_address(address)).cast("B")
