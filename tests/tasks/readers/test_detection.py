"""Which layout a record is of, by its fields."""

import json

import pytest

from carryover.tasks.readers.reader import all_readers, find_reader
from tests.tasks.readers.whole_traces import MADE_UP

EXPECTED = json.loads((MADE_UP / "detected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("layout", EXPECTED)
def test_a_record_is_of_the_layout_of_its_fields(layout):
    """`detected.json` has records that just belong to a layout, and under `unknown` ones that just do not."""
    found = [find_reader(record) for record in EXPECTED[layout]]
    told = ["unknown" if reader is None else reader.LAYOUT for reader in found]
    assert [record for record, each in zip(EXPECTED[layout], told, strict=True) if each != layout] == []


@pytest.mark.parametrize("record", [None, 3, "x", [], ["a"], [{"role": "user", "content": "a"}]])
def test_what_is_no_object_is_of_no_layout(record):
    assert {reader.detect(record) for reader in all_readers()} == {False}


def test_records_of_each_layout_are_among_them():
    layouts = {reader.LAYOUT for reader in all_readers()} - {"companions"}
    assert set(EXPECTED) == {*layouts, "unknown"}
