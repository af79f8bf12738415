import pytest

from carryover.tasks.runtime.inside.values.portable import is_json


@pytest.mark.parametrize(
    ("value", "is_so"),
    [
        *((value, True) for value in (None, True, 1, 1.5, "a", [], {}, [1, {"a": [None]}])),
        *((value, False) for value in ((1,), {1}, b"a", {1: 2}, {"a": (1,)}, [range(2)], 1j)),
    ],
    ids=repr,
)
def test_json_carries_plain_values_of_plain_keys(value, is_so):
    assert is_json(value) is is_so
