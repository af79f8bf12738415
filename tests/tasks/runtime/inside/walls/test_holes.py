import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from carryover.tasks.runtime.inside.walls.holes import fill_holes
size, fills = int(sys.argv[1]), sys.argv[2] == "filled"
made = [bytes(size - sys.getsizeof(b"")) for _ in range(3000)]
for place in range(0, 3000, 16):
    made[place] = None
if fills:
    fill_holes()
new = [bytes(size - sys.getsizeof(b"")) for _ in range(20)]
print(len({id(one) >> 12 for one in new}))
"""


def pages_of_new_objects(size: int, state: str) -> int:
    command = [sys.executable, "-c", PROGRAM, str(size), state]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("size", [96, 208])
def test_new_objects_lie_side_by_side_once_holes_are_filled(size):
    assert pages_of_new_objects(size, "filled") <= 20 * size // 4096 + 2
    assert pages_of_new_objects(size, "as it is") > 5


FILLERS = """
import sys
from carryover.tasks.runtime.inside.walls import holes
holes._HEADER_BYTES = int(sys.argv[1])
holes.fill_holes()
print(sum(sys.getsizeof(filler) for filler in holes._fillers if filler is not None))
"""


def bytes_of_fillers(allocator: str, header_bytes: int) -> int:
    command = [sys.executable, "-c", FILLERS, str(header_bytes)]
    environment = {**os.environ, "PYTHONMALLOC": allocator}
    return int(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc", "debug"])
def test_fillers_are_bounded_in_bytes(allocator):
    assert bytes_of_fillers(allocator, 32) <= 4 << 20


def test_size_that_meets_no_fresh_memory_has_no_fillers():
    assert bytes_of_fillers("pymalloc", -1) == 0  # no two blocks lie closer than their size
