"""Rows as a lazy frame, from each form that they come in."""

import polars as pl
import pyarrow as pa
import pytest

from carryover.tasks.traces.frames import lazy

COLUMNS = {"step": [1, 2], "name": ["a", None]}


@pytest.mark.parametrize("rows", [pa.table(COLUMNS), pl.DataFrame(COLUMNS), pl.LazyFrame(COLUMNS)])
def test_rows_of_any_form_are_a_lazy_frame(rows):
    frame = lazy(rows)
    assert isinstance(frame, pl.LazyFrame)
    assert frame.collect().to_dict(as_series=False) == COLUMNS
