"""Small recordings of every layout with what each may lack or hold besides, as they are read.

`readings.json` has the records, the fields of the traces that are no defaults, and what is said to be unread.
"""

import json

import pytest

from carryover.tasks.readers.reading import read_value
from carryover.tasks.readers.tally import Tally
from tests.tasks.readers.whole_traces import MADE_UP, kept_trace

EXPECTED = json.loads((MADE_UP / "readings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_records_are_read_whole(name):
    tally = Tally()
    traces = [kept_trace(trace) for trace in read_value(EXPECTED[name]["records"], tally, "r")]
    assert traces == EXPECTED[name]["traces"]
    assert tally.sentences() == EXPECTED[name]["said"]
