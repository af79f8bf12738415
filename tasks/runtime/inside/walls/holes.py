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
_LIMIT_BYTES = 4 << 20
"""Bytes of them all; ten times as many as such an interpreter needs."""
_EMPTY_BYTES = sys.getsizeof(b"")

_fillers: list[bytes | None] = [None] * _LIMIT
"""As long as it will ever be: a list that grows leaves holes."""


def fill_holes() -> None:
    """Fill the free blocks of every size up to where fresh memory begins, for the life of the process."""
    place, left_bytes = 0, _LIMIT_BYTES
    for size in (*_LARGE_SIZES, *_SMALL_SIZES):
        end = _fill(size, place, min(_LIMIT, place + left_bytes // size))
        left_bytes -= (end - place) * size
        place = end


def _fill(size: int, begin: int, limit: int) -> int:
    """Make blocks until so many lie in a row as only fresh memory has room for, and give that back.

    All of them are given back where the limit comes first: an allocator that keeps more between two blocks shows no
    fresh memory. Returns the next place for a filler.
    """
    wanted = max(_LEAST_IN_A_ROW, _POOL_BYTES // size - 2)
    in_a_row = previous = 0
    place = begin
    while in_a_row < wanted and place < limit:
        filler = _fillers[place] = bytes(size - _EMPTY_BYTES)
        in_a_row = in_a_row + 1 if size <= id(filler) - previous <= size + _HEADER_BYTES else 0
        previous = id(filler)
        place += 1
    fresh = place - in_a_row - 1 if in_a_row == wanted else begin
    _fillers[fresh:place] = [None] * (place - fresh)
    return fresh
