"""How many packed sequences conversations fill, as the trainer's best-fit-decreasing packing makes them."""

from bisect import bisect_left, insort
from collections.abc import Sequence


def packed_count(lengths: Sequence[int], capacity: int) -> int:
    """Return the number of sequences of `capacity` tokens that whole conversations of these lengths fill.

    Longest first, each into the fullest sequence that still has room.
    """
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        place = bisect_left(rooms, length)
        room = rooms.pop(place) if place < len(rooms) else capacity
        insort(rooms, room - length)
    return len(rooms)
