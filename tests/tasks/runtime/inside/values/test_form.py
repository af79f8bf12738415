"""The form of a blob, and plain values that are refused because they would arrive altered."""

import collections
import datetime
import io
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import pytest

from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import decode, encode
from tests.tasks.runtime.inside.values.travelling import forged, travelled


def test_blob_is_its_head_and_the_aligned_contents():
    encoded = encode([1, "a", 2**63 - 1, -(2**63), 2**63, b"xy", b"z"])
    head = (
        b'[[0],[["builtins.list",[1,"a",9223372036854775807,-9223372036854775808,[1],[2],[3]]],'
        b'["builtins.int",["0x8000000000000000"]],["builtins.bytes",[],2],["builtins.bytes",[],1]]]'
    )
    assert (encoded.head, encoded.libraries) == (head, ())
    blob = bytearray(encoded.size)
    encoded.write(memoryview(blob))
    start = -(-(8 + len(head)) // 64) * 64
    whole = (
        (len(head).to_bytes(8, "little") + head).ljust(start, b"\0") + b"xy".ljust(64, b"\0") + b"z".ljust(64, b"\0")
    )
    assert blob == whole


def test_long_text_is_a_content():
    assert encode("x" * 65_536).contents == []
    assert [content.size for content in encode("x" * 65_537).contents] == [65_537]


def test_libraries_are_those_that_decoding_takes():
    value = [pd.Timedelta(5), np.zeros(1), {"a": pd.Timedelta(5)}]
    assert encode(value).libraries == ("numpy", "pandas")
    assert encode([{"pandas.x": "numpy.y"}]).libraries == ()


NAN = float("nan")
MERGING = {
    "set": ({NAN, -NAN}, "a set with two NaNs does not travel, as they are equal on arrival; use a list"),
    "frozenset": (frozenset({NAN, -NAN}), "a set with two NaNs does not travel"),
    "dict": ({NAN: 1, -NAN: 2}, "a dict with two NaNs does not travel, as they are equal on arrival; use a list"),
}


@pytest.mark.parametrize(("value", "message"), MERGING.values(), ids=MERGING)
def test_members_that_would_merge_are_refused(value, message):
    with pytest.raises(NotPortableError, match=message):
        encode(value)


def test_one_nan_stays_a_member():
    assert [repr(member) for member in travelled({NAN})] == ["nan"]
    assert repr(travelled({NAN: 1, 0.5: 2})) == "{nan: 1, 0.5: 2}"


@pytest.mark.parametrize(
    ("tag", "parts", "kind"),
    [
        ("builtins.set", [1, 1], "a set whose members"),
        ("builtins.frozenset", [1, 1], "a set whose members"),
        ("builtins.dict", [1, 2, 1, 3], "a dict whose keys"),
        ("collections.defaultdict", [None, 1, 2, 1, 3], "a dict whose keys"),
    ],
)
def test_members_that_merge_on_arrival_are_refused(tag, parts, kind):
    with pytest.raises(NotPortableError, match=f"^{kind} are equal on arrival does not travel; use a list"):
        decode(forged([0], [[tag, parts]]), {})


@pytest.mark.parametrize("tag", ["builtins.set", "builtins.frozenset", "builtins.dict"])
def test_as_many_as_64_members_may_share_a_hash(tag):
    colliding = [number * (2**61 - 1) for number in range(65)]
    members = {number: [number] * (1 + (tag == "builtins.dict")) for number in colliding}
    most = [part for number in colliding[:64] for part in members[number]]
    assert len(decode(forged([0], [[tag, most]]), {})) == 64
    with pytest.raises(NotPortableError, match="of 65 does not travel in which more than 64 share a hash"):
        decode(forged([0], [[tag, [*most, *members[colliding[64]]]]]), {})


@pytest.mark.parametrize("factory", [None, list, dict, set, tuple, int, float, str, bool])
def test_defaultdict_keeps_its_factory(factory):
    back = travelled(collections.defaultdict(factory, a=1))
    assert (back.default_factory, back) == (factory, {"a": 1})


@pytest.mark.parametrize(
    "zone", [datetime.UTC, *(datetime.timezone(datetime.timedelta(hours=1), *name) for name in ((), ("X",)))]
)
def test_zone_keeps_its_own_name_or_none(zone):
    assert repr(travelled(zone)) == repr(zone)


def test_zone_without_a_key_is_refused():
    # One transition time of none, and one type: UTC.
    header = b"TZif" + bytes(16) + b"".join(count.to_bytes(4, "big") for count in (0, 0, 0, 0, 1, 4))
    nameless = zoneinfo.ZoneInfo.from_file(io.BytesIO(header + bytes(6) + b"UTC\0"))
    with pytest.raises(NotPortableError, match="a ZoneInfo without a key does not travel; use ZoneInfo"):
        encode(nameless)


def test_text_buffer_keeps_its_lines():
    assert list(travelled(io.StringIO("a\rb\r\nc\n"))) == ["a\rb\r\n", "c\n"]


def closed() -> io.BytesIO:
    buffer = io.BytesIO()
    buffer.close()
    return buffer


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (closed(), "a value of type BytesIO does not travel: I/O operation on closed file"),
        (collections.UserDict.__new__(collections.UserDict), "a value of type UserDict does not travel: .* 'data'"),
    ],
)
def test_value_that_cannot_be_read_is_refused(value, message):
    with pytest.raises(NotPortableError, match=message):
        encode([value])


def test_want_of_memory_is_not_called_malformed():
    def refer(_handle: Any) -> Any:
        raise MemoryError

    with pytest.raises(MemoryError):
        decode(forged([0], [["class.reference", ["table"]]]), {}, refer=refer)
