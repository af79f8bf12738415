import subprocess
import sys

import pytest

PROGRAM = """
import sys
from tasks.runtime.inside.holes import fill_holes
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
