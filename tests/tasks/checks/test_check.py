import polars as pl
import pytest

from carryover.tasks.checks.suites import Check

FRAME = pl.DataFrame({"id": list("abcd"), "value": [1.0, 2.0, 3.0, None], "word": ["x", "y", None, "z"]})


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (Check(name="low", kind="between", column="value", minimum=2), ["a"]),
        (Check(name="high", kind="between", column="value", maximum=2), ["c"]),
        (Check(name="both", kind="between", column="value", minimum=2, maximum=2), ["a", "c"]),
        (Check(name="known", kind="in_set", column="word", allowed=("x", "y")), ["d"]),
        (Check(name="rows", kind="row_count", minimum=9), []),
    ],
)
def test_rows_that_break_a_check(check, broken):
    assert FRAME.filter(check.is_broken())["id"].to_list() == broken
