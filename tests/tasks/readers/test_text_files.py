"""Records of text files: one value, lines, documents after one another, and prose."""

from io import BytesIO
from pathlib import Path

import pytest

from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.text_files import text_records

FILE = Path("d/f.jsonl")
BROKEN = b"{broken\n"
TEXT = "plain text beside traces; name it itself to read it as a transcript (first: d/f.jsonl)"
NO_LINE = "a line that is not JSON in UTF-8 (first: line "


def read(text, *, is_named=False):
    tally = Tally()
    records = list(text_records(BytesIO(text), FILE, tally, is_named=is_named))
    assert {record.file for record in records} <= {FILE}
    return [(record.content, record.place.removesuffix(" of d/f.jsonl"), record.name) for record in records], tally


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\n \n{"a":\n 1}\n', {"a": 1}),
        (b'{"a": "\t"}\n\n', {"a": "\t"}),
        (b'{"a": 1}\n   ', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b"7", 7),
    ],
)
def test_one_value_is_the_record_of_the_file(text, content):
    records, tally = read(text)
    assert (records, tally.sentences()) == ([(content, "d/f.jsonl", "f")], [])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (b'{"n": 1}\n{"n": 2}\n', [1, 2]),
        (b'\n{"n": 2}\n{"n": 3}\n\n \n{"n": 6}', [2, 3, 6]),
        (b'\xef\xbb\xbf{"n": 1}\n{"n": 2}', [1, 2]),
        (b' \t{"n": 1}\n{"n": 2}', [1, 2]),
    ],
)
def test_lines_are_records_with_their_numbers(text, numbers):
    records, tally = read(text)
    assert records == [({"n": number}, f"line {number}", f"f-{number}") for number in numbers]
    assert (tally.sentences(), tally.byte_count) == ([], len(text))


def test_lists_may_stand_in_lines_or_be_the_file():
    assert read(b"[1]\n[2]\n")[0] == [([1], "line 1", "f-1"), ([2], "line 2", "f-2")]
    assert read(b"[1, 2]")[0] == [(1, "element 1", "f-1"), (2, "element 2", "f-2")]


@pytest.mark.parametrize(
    ("text", "contents", "said"),
    [
        (b'{"a":\n 1}\n{"b":\n 2}\n\n', [{"a": 1}, {"b": 2}], None),
        (b'{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}], None),
        (b"[1,\n2]\n[3,\n4]", [[1, 2], [3, 4]], None),
        (b'{"a":\n "\t"}\nrest', [{"a": "\t"}], "document 2 of d/f.jsonl: Expecting value: line 3"),
        (b" [broken", [], "document 1 of d/f.jsonl: Expecting value"),
        (b'[broken\n{"a": 1}\n', [], "document 1 of d/f.jsonl: Expecting value"),
        (BROKEN + b' {"b": 2}\n', [], "document 1 of d/f.jsonl: Expecting property name"),
        (BROKEN + b"x\n" * 19 + b'{"b": 2}\n', [], "document 1 of d/f.jsonl: Expecting property name"),
    ],
)
def test_documents_may_follow_one_another(text, contents, said):
    records, tally = read(text)
    numbered = enumerate(contents, start=1)
    assert records == [(content, f"document {number}", f"f-{number}") for number, content in numbered]
    assert [each.startswith(f"1 unread: not JSON in UTF-8 (first: {said}") for each in tally.sentences()] == (
        [True] if said else []
    )


@pytest.mark.parametrize(
    ("text", "numbers", "said"),
    [
        (BROKEN + b'{"n": 2}\n{"n": 3}\n', [2, 3], f"1 unread: {NO_LINE}1 of"),
        (BROKEN + b"x\n" * 18 + b'{"n": 20}\n', [20], f"19 unread: {NO_LINE}1 of"),
        (b'{"n": 1}\n\xff\n', [1], f"1 unread: {NO_LINE}2 of"),
    ],
)
def test_lines_that_are_broken_leave_the_others(text, numbers, said):
    records, tally = read(text)
    assert records == [({"n": number}, f"line {number}", f"f-{number}") for number in numbers]
    (sentence,) = tally.sentences()
    assert sentence.startswith(said)


@pytest.mark.parametrize("text", ["prose", '"text"\n{"a": 1}', 'prose\n{"a": 1}\n', " (a)"])
def test_prose_is_a_record_where_it_is_named_itself(text):
    assert read(text.encode(), is_named=True)[0] == [(text, "d/f.jsonl", "f")]
    records, tally = read(text.encode())
    assert (records, tally.sentences()) == ([], [f"1 unread: {TEXT}"])


@pytest.mark.parametrize(
    ("text", "reason"), [(b"", "empty file"), (b"\n \n", "empty file"), (b"\xff", "neither JSON nor text in UTF-8")]
)
def test_what_holds_no_text_is_told(text, reason):
    records, tally = read(text, is_named=True)
    assert (records, tally.sentences()) == ([], [f"1 unread: {reason} (first: d/f.jsonl)"])
