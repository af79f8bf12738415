"""Small recordings of every layout with what each may lack or hold besides, as they are read.

`readings.json` has the records, the fields of the traces that are no defaults, and what is said to be unread.
"""

import json

import pytest

from tests.tasks.readers.whole_traces import KEPT_READINGS, whole_reading

EXPECTED = json.loads(KEPT_READINGS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_records_are_read_whole(name):
    assert whole_reading(EXPECTED[name]["records"]) == EXPECTED[name]
