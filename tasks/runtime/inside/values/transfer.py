"""Large objects through shared memory: the host makes it and fixes its size, the sandbox reads or fills it."""

import mmap
from collections.abc import Sequence
from typing import Any


def fill(descriptor: int, buffers: Sequence[Any]) -> None:
    """Write buffers one after the other into shared memory of exactly their size."""
    size = sum(len(buffer) for buffer in buffers)
    with mmap.mmap(descriptor, size) as memory:
        for buffer in buffers:
            memory.write(buffer)


def read(descriptor: int, sizes: Sequence[int]) -> list[bytes]:
    """Return the buffers that lie one after the other in shared memory."""
    with mmap.mmap(descriptor, sum(sizes), prot=mmap.PROT_READ) as memory:
        return [memory.read(size) for size in sizes]
