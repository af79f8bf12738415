"""Arguments and results of tools, as a trace tells them."""

from fractions import Fraction

import numpy as np
import pytest

from carryover.tasks.runtime.tools import tell

ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
DEEP: list[object] = []
for _ in range(200_000):  # beyond what any Python writes
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (np.float64(1.5), "1.5"),
        ([Fraction(1, 2)], '["<Fraction>"]'),
        ({(1, 2): 3}, '"<dict>"'),
        (ENDLESS, '"<list>"'),
        (DEEP, '"<list>"'),
    ],
    ids=["plain", "number of NumPy", "other number", "keys", "endless", "deep"],
)
def test_what_is_no_json_is_told_by_its_type(value, told):
    assert tell(value) == told
