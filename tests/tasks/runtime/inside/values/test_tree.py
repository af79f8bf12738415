"""What the sandbox sends as a value, forged: small on its way and large in the host's memory, or no value at all."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import decode, encode
from carryover.tasks.runtime.objects import Record, RetrievalError, Room, read_value

MIB = 1 << 20
LIBRARIES = ["polars", "pandas"]


def stream(table: pa.Table, **options) -> bytes:
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return target.getvalue()


def table_of(*columns: pa.Array) -> pa.Table:
    return pa.Table.from_arrays(columns, [f"column_{number}" for number in range(len(columns))])


def record(type_name: str, fields: dict[str, Any]) -> Record:
    return Record(type_name, fields)


def read_frame(content: bytes, library: str = "polars", limit_bytes: int = MIB):
    return decode(["frame", library, False, 0], [content], record, limit_bytes)


def repeated(kind: pa.DataType, count: int, *buffers: bytes, children: tuple[pa.Array, ...] = ()) -> pa.Array:
    return pa.Array.from_buffers(
        kind, count, [None, *(pa.py_buffer(buffer) for buffer in buffers)], children=list(children)
    )


LONG = pa.array(["x" * 100_000])
FORGED = {
    "nulls": table_of(pa.nulls(20_000_000)),
    "lists of nulls": table_of(pa.FixedSizeListArray.from_arrays(pa.nulls(20_000_000), 10_000_000)),
    "structs of nothing": table_of(repeated(pa.struct([]), 2_000_000)),
    "categories": table_of(pa.DictionaryArray.from_arrays(pa.array(np.zeros(500_000, "int8")), LONG)),
    "columns": table_of(*[pa.nulls(0)] * 2_000),
    "columns of a cell": table_of(*[pa.nulls(1)] * 600),
}


@pytest.mark.parametrize(("text", "width"), [("a", 1), ("aé", 2), ("a漢", 2), ("a\N{GRINNING FACE}", 4)])
def test_text_takes_as_much_as_its_widest_character_makes_of_each(text, width):
    value = text * MIB
    content = value.encode()
    assert decode(["text", 0], [content], record, width * len(value)) == value
    with pytest.raises(NotPortableError, match="a text would take"):
        decode(["text", 0], [content], record, width * len(value) - 1)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("table", FORGED.values(), ids=FORGED)
def test_frame_that_would_grow_beyond_the_limit_is_refused_before_it_is_made(library, table):
    content = stream(table)
    assert len(content) < MIB
    before = pa.total_allocated_bytes()
    with pytest.raises(
        NotPortableError, match=r"would take some .* bytes or more in memory; an object may have 1048576"
    ):
        read_frame(content, library)
    assert pa.total_allocated_bytes() <= before


def test_texts_within_lists_are_objects_to_pandas_and_numbers_are_not():
    texts = stream(table_of(pa.array([["a"] * 200] * 100)))
    assert read_frame(texts, "polars").shape == (100, 1)
    with pytest.raises(NotPortableError, match=r"would take some 2"):
        read_frame(texts, "pandas")
    assert read_frame(stream(table_of(pa.array([[1] * 200] * 100))), "pandas").shape == (100, 1)


def test_categories_within_structs_count_as_often_as_they_are_said():
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000, "int8")), LONG)
    table = table_of(pa.StructArray.from_arrays([codes], ["inner"]))
    with pytest.raises(NotPortableError, match="would take some 100"):
        read_frame(stream(table), "pandas", limit_bytes=50 * MIB)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_share_a_buffer_count_each(library):
    content = stream(table_of(pa.array(np.zeros(100_000, "int64"))))
    one = pl.read_ipc_stream(content)
    assert read_frame(content, library).shape == one.shape
    with pytest.raises(NotPortableError, match="an object may have 1048576"):
        decode(["list", [["frame", library, False, 0], ["frame", library, False, 1]]], [content] * 2, record, MIB)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_compressed_frame_is_refused_unread(library, codec, is_dictionary):
    column = pa.array(np.zeros(8_000_000, "int64"))
    if is_dictionary:
        column = pa.DictionaryArray.from_arrays(pa.array([0], "int8"), pa.array(np.zeros(1_000_000, "int64")))
    content = stream(table_of(column), compression=codec)
    before = pa.total_allocated_bytes()
    with pytest.raises(NotPortableError, match="a compressed Arrow stream does not travel"):
        read_frame(content, library)
    assert pa.total_allocated_bytes() <= before


def test_dictionary_that_grows_by_additions_is_refused():
    target = io.BytesIO()
    kind = pa.dictionary(pa.int8(), pa.string())
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(target, pa.schema([("a", kind)]), options=options) as writer:
        for words in (["a"], ["a", "b"]):
            codes = pa.DictionaryArray.from_arrays(pa.array([0], "int8"), pa.array(words))
            writer.write_batch(pa.record_batch([codes], ["a"]))
    with pytest.raises(NotPortableError, match="adds to its dictionaries"):
        read_frame(target.getvalue())


def test_schema_that_says_one_thing_in_many_places_costs_no_more_than_an_object_may():
    script = Path(__file__).with_name("forged_schemas.py")
    ended = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, check=True)
    outcomes = json.loads(ended.stdout)
    assert outcomes.pop("honest")[0] == "read"
    assert len(outcomes) == 7
    for outcome, taken_bytes in outcomes.values():
        assert "bytes or more in memory; an object may have 1048576" in outcome
        assert taken_bytes < 4 * MIB


UNKNOWN_TYPES = {
    "string_view": pa.array(["a" * 20], pa.string_view()),
    "list_view": pa.array([[1]], pa.list_view(pa.int64())),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], "int32"), pa.array([1])),
    "union": pa.UnionArray.from_sparse(pa.array([0], "int8"), [pa.array([1])]),
    "decimal256": pa.array([1], pa.decimal256(50)),
    "inner union": pa.array([[1]]).cast(pa.list_(pa.int64())),
}
UNKNOWN_TYPES["inner union"] = pa.ListArray.from_arrays([0, 1], UNKNOWN_TYPES["union"])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("column", UNKNOWN_TYPES.values(), ids=UNKNOWN_TYPES)
def test_column_of_a_type_that_no_encoder_writes_is_refused(library, column):
    with pytest.raises(NotPortableError, match=r"column 'column_0' of Arrow type .* does not travel"):
        read_frame(stream(table_of(column)), library)


ODD = {
    "unknown time zone": table_of(pa.array([1], pa.timestamp("us", "Nowhere/Land"))),
    "equal names": pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]),
}


@pytest.mark.parametrize("table", ODD.values(), ids=ODD)
def test_what_polars_refuses_is_malformed_data(table):
    with pytest.raises(NotPortableError, match="malformed data"):
        read_frame(stream(table))


GOOD = stream(table_of(pa.array([1, 2, 3]), pa.array(["a", "b", None])))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 64, bytes(64)], ids=repr)
def test_garbage_in_place_of_a_frame_is_malformed_data(library, content):
    with pytest.raises(NotPortableError):
        read_frame(content, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frame_cut_or_bent_anywhere_is_read_or_refused_and_nothing_else(library):
    for position in range(len(GOOD)):
        bent = bytearray(GOOD)
        bent[position] ^= 0xFF
        for content in (GOOD[:position], bytes(bent)):
            try:
                read_frame(content, library)
            except NotPortableError:
                continue


@pytest.mark.parametrize("dtype", ["(1,i4", "O", "i8,i8", "(2,)i4", "int64", "<i8 ", "<M8[parsecs]", "<U0", "?" * 1000])
def test_type_of_an_array_that_no_encoder_writes_is_refused(dtype):
    with pytest.raises(NotPortableError, match=r"^malformed"):
        decode(["array", dtype, [1], 0], [bytes(8)], record)


@pytest.mark.parametrize(
    "node",
    [
        None,
        ["set", [["list", []]]],
        ["dict", [[["json", 1]]]],
        ["array", "<i8", [2], 0],
        ["array", "<i8", [1], 5],
        ["array", "<i8", [1], -1],
        ["array", "<i8", [True], 0],
        ["series", "polars", 5, 0],
        ["list", [["bytes", 0], ["bytes", 0]]],
    ],
    ids=repr,
)
def test_malformed_node_is_told_as_such(node):
    with pytest.raises(NotPortableError, match=r"^malformed"):
        decode(node, [bytes(8)], record)


def test_buffer_that_many_arrays_name_becomes_no_object_for_each_of_them():
    content = bytes(MIB)
    node = ["list", [["array", "|u1", [MIB], 0]] * 10_000]
    with pytest.raises(NotPortableError, match="buffer 0 where 1 is the next"):
        decode(node, [content], record, MIB)


COLLIDING = [["json", number * (2**61 - 1)] for number in range(20_000)]


@pytest.mark.parametrize(
    "node",
    [
        ["set", COLLIDING],
        ["frozenset", COLLIDING],
        ["dict", [[key, ["json", 1]] for key in COLLIDING]],
        ["set", [["tuple", [key]] for key in COLLIDING]],
    ],
    ids=["set", "frozenset", "dict", "tuples"],
)
def test_members_that_share_a_hash_are_refused_before_they_are_compared(node):
    with pytest.raises(NotPortableError, match="of 20000 does not travel in which more than 64 share a hash"):
        decode(node, [], record)


def test_a_refusal_names_the_variable():
    content = stream(FORGED["nulls"])
    with pytest.raises(RetrievalError, match=r"^basket: column 'column_0' would take some 160002056 bytes"):
        read_value("basket", Room(["frame", "pandas", False, 0], (len(content),)), content, {}, MIB)


HONEST = {
    "numbers": {"a": np.arange(1_000), "b": np.arange(1_000, dtype="int8")},
    "texts": {"a": ["text"] * 1_000, "b": ["\N{GRINNING FACE}", None] * 500},
    "flags": {"a": [True, False] * 500, "b": [True, None] * 500},
    "nothing": {"a": [None] * 1_000},
    "lists": {"a": [[1, 2], []] * 500, "b": [[["a"]], None] * 500},
    "structs": {"a": [{"x": 1, "y": "a"}, {"x": 2, "y": None}] * 500},
}


@pytest.mark.parametrize("columns", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("library", [pl, pd], ids=LIBRARIES)
def test_honest_frames_pass_under_a_limit_that_is_near_their_size(library, columns):
    frame = library.DataFrame(columns)
    buffers: list[bytes] = []
    node = encode(frame, buffers)
    back = decode(node, buffers, record, MIB)
    if library is pl:
        assert back.equals(frame)
    else:
        pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": pl.Series(["x", "y"] * 100, dtype=pl.Categorical)}),
        pl.concat([pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x"]))})] * 3, rechunk=False),
        pl.DataFrame({"a": pl.Series([[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)), "b": [b"bytes"] * 3}),
        pl.DataFrame({"a": pl.Series([1], dtype=pl.Duration), "b": pl.Series([1], dtype=pl.Datetime("us", "UTC"))}),
        pl.DataFrame({"a": pl.Series([1], dtype=pl.Time), "b": pl.Series([1], dtype=pl.Date)}),
        pl.DataFrame({"a": pl.Series([1], dtype=pl.Decimal(20, 2))}),
        pl.DataFrame(),
    ],
    ids=lambda frame: str(frame.dtypes),
)
def test_every_type_of_polars_that_has_a_form_in_arrow_passes(frame):
    buffers: list[bytes] = []
    node = encode(frame, buffers)
    assert decode(node, buffers, record, MIB).equals(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical(["x", "y", "x"]), "b": pd.Categorical([1, 2, 1])}),
        pd.DataFrame({"a": pd.period_range("2026-01", periods=2, freq="M")}),
        pd.DataFrame({"a": pd.interval_range(0, 2)}),
        pd.DataFrame({"a": pd.date_range("2026-01-01", periods=2, tz="UTC"), "b": pd.to_timedelta([1, 2])}),
        pd.DataFrame({"a": [b"bytes", None], "b": [np.datetime64("2026-01-01").item()] * 2}),
    ],
    ids=lambda frame: str(frame.dtypes.tolist()),
)
def test_types_of_pandas_pass(frame):
    buffers: list[bytes] = []
    node = encode(frame, buffers)
    pd.testing.assert_frame_equal(decode(node, buffers, record, MIB), frame)


TABLE = pd.DataFrame({"a": [1, 2, 3], "index": ["x", "y", "z"]})
INDEXED = {
    "a part of the rows": TABLE[1:],
    "nothing": TABLE[:0],
    "steps": TABLE[::2],
    "no name": TABLE.set_index(pd.Index(["x", "y", "z"])),
    "the name of a column": TABLE.set_index(pd.Index([3, 1, 2], name="a")),
    "a named range": TABLE.rename_axis("row"),
    "times": TABLE.set_index(pd.DatetimeIndex(["2026-01-01", "2026-01-03", "2026-01-07"])),
    "categories": TABLE.set_index(pd.CategoricalIndex(["x", "y", "x"], name="kind")),
}


def travelled(value):
    buffers: list[bytes] = []
    node = encode(value, buffers)
    return decode(json.loads(json.dumps(node)), buffers, record, MIB)


@pytest.mark.parametrize("frame", INDEXED.values(), ids=INDEXED)
def test_index_and_its_name_travel_with_a_frame_and_with_a_series(frame):
    pd.testing.assert_frame_equal(travelled(frame), frame)
    pd.testing.assert_series_equal(travelled(frame["a"]), frame["a"])
    pd.testing.assert_series_equal(travelled(frame["a"].rename(None)), frame["a"].rename(None))


ALTERED = {
    "levels": (TABLE.set_index(["a", "index"]), "several levels does not travel; .* reset_index"),
    "levels of a series": (TABLE.set_index(["a", "index"]).assign(b=1)["b"], "several levels does not travel"),
    "number as a name": (TABLE.rename_axis(5), "an index whose name is no text"),
    "numbers": (pd.DataFrame([[1, 2]]), "column names that are no text do not travel; .* rename"),
    "pairs": (pd.DataFrame({("a", "b"): [1]}), "column names that are no text"),
    "named columns": (TABLE.rename_axis(columns="field"), "a name of the columns does not travel"),
    "pair as a name": (pd.Series([1], name=("a", "b")), "a series whose name is .* does not travel"),
    "objects": (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "dtype Object does not travel"),
    "series of objects": (pl.Series([object()], dtype=pl.Object), "dtype Object does not travel"),
}


@pytest.mark.parametrize(("value", "message"), ALTERED.values(), ids=ALTERED)
def test_frame_that_would_come_back_altered_is_refused_with_the_way_out(value, message):
    with pytest.raises(NotPortableError, match=message):
        encode(value, [])
