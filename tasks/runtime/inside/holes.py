"""Fewer pages for each fork to write to: the free memory between what lives is filled.

What a process creates goes where room is first found: one block on a page here, two on another, and each of those
pages is copied. With the holes filled, new objects lie side by side on pages of their own.
"""

import sys

_POOL_BYTES = 16384
"""What Python's allocator takes at a time for blocks of one size."""
_SMALL_SIZES = range(48, 513, 16)
"""Smaller objects are so many to a page that most find room on one that is written to anyway."""
_LARGE_SIZES = (65536, 32768, 16384, 8192, 4096, 2048, 1024, 768, 640, 528)
"""These are the system allocator's: largest first, so that none takes the room of another."""
_LEAST_IN_A_ROW = 3
_HEADER_BYTES = 32
"""What an allocator keeps at most between two blocks."""
_LIMIT = 10_000
"""Fillers of all sizes; twice as many as an interpreter needs that has loaded little."""
_EMPTY_BYTES = sys.getsizeof(b"")

_fillers: list[bytes | None] = [None] * _LIMIT
"""As long as it will ever be: a list that grows leaves holes."""


def fill_holes() -> None:
    """Fill the free blocks of every size up to where fresh memory begins, for the life of the process."""
    place = 0
    for size in (*_LARGE_SIZES, *_SMALL_SIZES):
        place = _fill(size, place)


def _fill(size: int, place: int) -> int:
    """Make blocks until so many lie in a row as only fresh memory has room for, and give that back.

    Returns the next place for a filler.
    """
    wanted = max(_LEAST_IN_A_ROW, _POOL_BYTES // size - 2)
    in_a_row = previous = 0
    while in_a_row < wanted and place < _LIMIT:
        filler = _fillers[place] = bytes(size - _EMPTY_BYTES)
        in_a_row = in_a_row + 1 if size <= id(filler) - previous <= size + _HEADER_BYTES else 0
        previous = id(filler)
        place += 1
    fresh = place - in_a_row - 1
    _fillers[fresh:place] = [None] * (place - fresh)
    return fresh
