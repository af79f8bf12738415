"""Values through the codec: each comes back equal and of its type, or is refused by name; forged blobs are refused."""

import collections
import datetime
import decimal
import fractions
import pathlib
import uuid
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import decode, encode, is_harmless
from tests.flattening import flat
from tests.tasks.runtime.inside.values.travelling import forged, travelled

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
PLAIN = [
    *(None, True, 3, 2.5, -0.0, float("inf"), 1j, 2**63, -(2**63), 10**5000, "", "\ud800 \N{GRINNING FACE}"),
    *(b"", bytearray(), [b""], [], (), set(), frozenset(), {}, [[]], ((),), {"a": {}}, range(0), range(9, 1, -2)),
    *(
        "x" * 70_000,
        "é\ud800" * 70_000,
        b"x" * 70_000,
        bytearray(b"x"),
        slice(1, None),
        {1: {2: (3, [4])}},
        {(1, (2,))},
    ),
    *(collections.Counter("aab"), collections.OrderedDict(b=1, a=2), collections.defaultdict(list, a=[1])),
    *(collections.deque([1, [2]], 5), decimal.Decimal("1.50"), decimal.Decimal("-Infinity"), fractions.Fraction(1, 3)),
    *(datetime.date(2026, 1, 2), datetime.time(1, 2, 3, 4, BERLIN), datetime.timedelta(-5, 4, 3), BERLIN),
    *(datetime.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), datetime.datetime(2026, 1, 1)),
    *(datetime.timezone(datetime.timedelta(hours=1), "X"), datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC)),
    *(uuid.UUID(int=5), pathlib.Path("/a/b"), pathlib.PurePosixPath("c"), pathlib.PureWindowsPath("c:/d")),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:40] if value != 10**5000 else "huge")
def test_plain_values_come_back_equal_and_of_the_same_type(value):
    back = travelled(value)
    assert (back, type(back)) == (value, type(value))


ARRAYS = [
    *(np.array([]), np.zeros((0, 3)), np.zeros((2, 0, 3), "int8"), np.array(5), np.array([], object), np.array([[[]]])),
    *(np.arange(6).reshape(2, 3).T, np.arange(6)[::2], np.array(["a", "bc"]), np.array([b"a"]), np.array([True])),
    *(np.array([1, "a", None, [2]], object), np.array([[1j]]), np.array(["2026"], "M8[s]"), np.array([1], "m8[ms]")),
    np.array([(1, 2.0)], [("a", "i4"), ("b", "f8", (2,))]),
    np.array([(1, "x")], np.dtype([("a", ">i2"), ("b", "U3")], align=True)),
    *(np.float32(2), np.bool_(True), np.str_("hi"), np.bytes_(b"x"), np.datetime64("2026-01"), np.float64("nan")),
]


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype} {value.shape}")
def test_arrays_and_scalars_keep_dtype_shape_and_type(value):
    back = travelled(value)
    np.testing.assert_array_equal(back, value)
    assert (type(back), back.dtype, back.shape) == (type(value), value.dtype, value.shape)


def test_arrays_that_travelled_can_be_written_to():
    back = travelled(np.zeros(3))
    back[0] = 1
    assert back.tolist() == [1, 0, 0]


TABLE = pd.DataFrame({"a": [1, 2, 3], "index": ["x", "y", "z"]})
PANDAS = {
    "nothing": pd.DataFrame(),
    "no columns": pd.DataFrame(index=["a", "b"]),
    "no rows": TABLE[:0],
    "a part of the rows": TABLE[1:],
    "a block": pd.DataFrame(np.arange(6).reshape(3, 2)),
    "Int64": pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([1, 2], "UInt8")}),
    "Float32": pd.DataFrame({"a": pd.array([1.5, None], "Float32")}),
    "boolean": pd.DataFrame({"a": pd.array([True, None], "boolean")}),
    "text": pd.DataFrame({"a": pd.array(["x", None], "string"), "b": ["x", None]}),
    "text in Python": pd.DataFrame({"a": pd.array(["x", None], pd.StringDtype("python"))}),
    "objects": pd.DataFrame({"a": np.array(["x", {"y": [1]}, None], object)}),
    "texts as objects": pd.DataFrame({"a": pd.Series(["x", "y"], dtype=object)}),
    "periods": pd.DataFrame({"a": pd.period_range("2026-01", periods=2, freq="M")}),
    "intervals": pd.DataFrame({"a": pd.interval_range(0, 2, closed="left")}),
    "categories": pd.DataFrame({"a": pd.Categorical(["x", None], ["y", "x"], ordered=True)}),
    "times": pd.DataFrame({"a": pd.date_range("2026-10-25", periods=4, freq="h", tz="Europe/Berlin")}),
    "plain times": pd.DataFrame({"a": pd.date_range("2026", periods=2), "b": pd.to_timedelta([1, None])}),
    "Arrow's": pd.DataFrame({"a": pd.array([1, None], pd.ArrowDtype(pa.int8()))}),
    "levels": TABLE.set_index(["a", "index"]).assign(b=1),
    "no name": TABLE.set_index(pd.Index(["x", "y", "z"])),
    "a number as a name": TABLE.rename_axis(5),
    "a range with a name": TABLE.rename_axis("row"),
    "a range with steps": TABLE[::2],
    "an index of times": TABLE.set_index(pd.date_range("2026", periods=3, freq="D")),
    "an index of categories": TABLE.set_index(pd.CategoricalIndex(["x", "y", "x"], name="kind")),
    "an index of objects": TABLE.set_index(pd.Index(["x", "y", 1], dtype=object)),
    "numbers as columns": pd.DataFrame([[1, 2]]),
    "pairs as columns": pd.DataFrame({("a", "b"): [1], ("a", "c"): ["x"]}),
    "equal columns": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "named columns": TABLE.rename_axis(columns="field"),
}


@pytest.mark.parametrize("frame", PANDAS.values(), ids=PANDAS)
def test_pandas_frames_and_series_come_back_as_they_were(frame):
    pd.testing.assert_frame_equal(travelled(frame), frame)
    for place in range(frame.shape[1]):
        pd.testing.assert_series_equal(travelled(frame.iloc[:, place]), frame.iloc[:, place])


def test_attributes_and_scalars_of_pandas_travel():
    frame = TABLE.copy()
    frame.attrs = {"unit": decimal.Decimal(1)}
    assert travelled(frame).attrs == frame.attrs
    scalars = [
        pd.Timestamp("2026-10-25 00:30", tz="UTC").tz_convert(BERLIN),
        pd.Timedelta(5),
        pd.Period("2026-01"),
        pd.Interval(0, 1),
    ]
    assert travelled(scalars) == scalars
    assert [type(one) for one in travelled(scalars)] == [type(one) for one in scalars]
    assert travelled(pd.NaT) is pd.NaT
    assert travelled(pd.NA) is pd.NA


POLARS = [
    pl.DataFrame(),
    pl.DataFrame({"a": [1]}).clear(),
    pl.DataFrame({"a": pl.Series(["x", "y"] * 100, dtype=pl.Categorical)}),
    pl.concat([pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x"]))})] * 3, rechunk=False),
    pl.DataFrame({"a": pl.Series([[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)), "b": [b"bytes"] * 3}),
    pl.DataFrame({"a": pl.Series([1], dtype=pl.Duration), "b": pl.Series([1], dtype=pl.Datetime("us", "UTC"))}),
    pl.DataFrame({"a": pl.Series([1], dtype=pl.Time), "b": pl.Series([1], dtype=pl.Date)}),
    pl.DataFrame({"a": pl.Series([1], dtype=pl.Decimal(20, 2)), "b": [None], "c": [{"x": [1, None]}]}),
]


@pytest.mark.parametrize("frame", POLARS, ids=lambda frame: str(frame.dtypes))
def test_polars_frames_and_series_keep_their_types(frame):
    back = travelled(frame)
    assert (back.equals(frame), back.schema) == (True, frame.schema)
    assert all(travelled(column).equals(column) for column in frame)


ARROW = [
    *(
        pa.table({"a": [1, None]}),
        pa.table({}),
        pa.record_batch({"a": ["x"]}),
        pa.array([1.5]),
        pa.array([], pa.string()),
    ),
    *(pa.array(["a", "a"]).dictionary_encode(), pa.chunked_array([[1], [2]]), pa.chunked_array([], pa.int8())),
    *(pa.array([[1], None]), pa.array([{"a": 1}]), pa.array(["a"], pa.string_view()), pa.record_batch({"a": []})),
]


@pytest.mark.parametrize("value", ARROW, ids=lambda value: type(value).__name__)
def test_arrow_tables_and_arrays_come_back_equal(value):
    back = travelled(value)
    assert (back.equals(value), type(back)) == (True, type(value))


def test_images_travel_as_png_bytes():
    assert travelled([Image.new("RGB", (2, 2))])[0].startswith(b"\x89PNG")


def test_aliases_and_cycles_keep_their_shape():
    shared = [1]
    back = travelled([shared, {"a": shared}])
    assert back == [[1], {"a": [1]}]
    assert back[0] is back[1]["a"]
    looped: list[Any] = [()]
    looped[0] = (looped, {"self": looped})
    back = travelled(looped)
    assert back[0][0] is back
    assert back[0][1]["self"] is back
    pair = ([],)
    pair[0].append(pair)
    back = travelled(pair)
    assert back[0][0] is back


def test_depth_and_shared_growth_cost_no_more_than_their_parts():
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    assert len(travelled(deep)) == 1
    wide: Any = 0
    for _ in range(40):
        wide = [wide, wide]
    assert encode(wide).size < 4_000


ALTERED = {
    "object dtype": (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "dtype Object does not travel"),
    "128 bits": (pl.Series([1], dtype=pl.Int128), "Polars cannot write the frame as Arrow"),
    "extension": (pa.table({"a": pa.array(["1"], pa.json_())}), "column 'a' of Arrow type .* does not travel"),
    "variable texts": (np.array(["a"], np.dtypes.StringDType()), "does not travel"),
    "objects in fields": (np.array([(None,)], [("a", object)]), "does not travel; convert it with astype"),
    "factory": (collections.defaultdict(lambda: 1), "a defaultdict of .* does not travel; convert it to dict first"),
    "function": ([len], "builtin_function_or_method does not travel"),
    "generator": ({"a": (_ for _ in [])}, "generator does not travel"),
}


@pytest.mark.parametrize(("value", "message"), ALTERED.values(), ids=ALTERED)
def test_value_that_would_come_back_altered_is_refused_by_name(value, message):
    with pytest.raises(NotPortableError, match=message):
        encode(value)


@pytest.mark.parametrize(
    "dtype", ["'(1,i4'", "'O'", "'i8,i8'", "'(2,)i4'", "'int64'", "'<i8 '", "'<M8[parsecs]'", "'<U0'", "[('a', 'O')]"]
)
def test_dtype_that_no_encoder_writes_is_refused(dtype):
    with pytest.raises(NotPortableError, match=r"^malformed"):
        decode(forged([0], [["numpy.ndarray", [dtype, 1, 1], 8]], bytes(8)), {})


@pytest.mark.parametrize(
    ("part", "nodes"),
    [
        ([0], []),
        ([0], None),
        ([-1], [["builtins.list", []]]),
        ([0], [["builtins.eval", []]]),
        ([0], [["os.system", ["true"]]]),
        ([0], [["builtins.set", [[1]]], ["builtins.list", []]]),
        ([0], [["builtins.dict", [1]]]),
        ([0], [["builtins.tuple", [[0]]]]),
        ([0], [["builtins.tuple", [[1]]], ["builtins.tuple", [[0]]]]),
        ([0], [["builtins.bytes", [], 9]]),
        ([0], [["builtins.bytes", [], -1]]),
        ([0], [["builtins.bytes", [], True]]),
        ([0], [["builtins.bytes", [1 << 40]]]),
        ([0], [["fractions.Fraction", ["1e999999999", None]]]),
        ([0], [["numpy.ndarray", ["'<i8'", 1, 2], 8]]),
        ([0], [["numpy.ndarray", ["'<i8'", 1, -1], 8]]),
        ([0], [["class.record", ["Own", "a"]]]),
        ([0], [["class.record", [[0]]]]),
        ([0], [["class.named_tuple", ["Pair", "left", 1, "right"]]]),
        ([0], [["builtins.type", ["len"]]]),
        ([0], [["polars.DataFrame", [1]]]),
        ([0], [["pandas.DataFrame", [1, 2, 3]]]),
        ([0], [["pandas.Categorical", [[1], [1], True]], ["builtins.list", [5]]]),
    ],
    ids=repr,
)
def test_malformed_nodes_are_told_as_such(part, nodes):
    with pytest.raises(NotPortableError, match=r"^malformed"):
        decode(forged(part, nodes, bytes(8)), {})


@pytest.mark.parametrize("blob", [b"", b"garbage", b"\xff" * 64, bytes(64), b"\x05" + bytes(7) + b"[" * 50])
def test_garbage_is_malformed_data(blob):
    with pytest.raises(NotPortableError, match=r"^malformed"):
        decode(memoryview(blob), {})


COLLIDING = [number * (2**61 - 1) for number in range(20_000)]


@pytest.mark.parametrize(
    "nodes",
    [
        [["builtins.set", COLLIDING]],
        [["builtins.frozenset", COLLIDING]],
        [["builtins.dict", flat((key, 1) for key in COLLIDING)]],
        [["collections.Counter", flat((key, 1) for key in COLLIDING)]],
        [["builtins.set", [[n + 1] for n in range(20_000)]], *(["builtins.tuple", [key]] for key in COLLIDING)],
    ],
    ids=["set", "frozenset", "dict", "counter", "tuples"],
)
def test_members_with_equal_hashes_are_refused_before_comparison(nodes):
    with pytest.raises(NotPortableError, match="of 20000 does not travel in which more than 64 share a hash"):
        decode(forged([0], nodes), {})


def test_only_what_takes_no_library_and_shares_nothing_is_harmless():
    pairs: list[Any] = [["builtins.tuple", [[place], [place]]] for place in range(1, 40)]
    assert is_harmless(forged([0], [["builtins.list", [[1], "x"]], ["builtins.dict", ["a", 1]]]))
    assert not is_harmless(forged([0], [*pairs, ["builtins.tuple", []]]))
    assert not is_harmless(forged([0], [["numpy.ndarray", ["'<i8'", 1, 1], 8]]))
    assert not is_harmless(memoryview(b"garbage"))


def test_library_that_was_not_announced_is_not_imported():
    with pytest.raises(NotPortableError, match="numpy was not announced"):
        decode(forged([0], [["numpy.ndarray", ["'<i8'", 1, 1], 8]], bytes(8)), {}, libraries=())


class Registered(pa.ExtensionType):
    """What a library registers in the host's process."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.registered")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: Any, _told: bytes) -> "Registered":
        raise AssertionError("code of the host's ran on data of the sandbox's")


@pytest.mark.parametrize("wrap", [lambda kind: kind, pa.list_], ids=["column", "nested"])
def test_extension_type_that_the_host_registered_runs_no_code(wrap):
    field = pa.field("x", pa.int64(), metadata={"ARROW:extension:name": "tests.registered"})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, pa.schema([field if wrap is not pa.list_ else pa.field("y", pa.list_(field))])):
        pass
    content = stream.getvalue().to_pybytes()
    pa.register_extension_type(Registered())
    try:
        with pytest.raises(NotPortableError, match="extension type"):
            decode(forged([0], [["pyarrow.Table", [], len(content)]], content), {}, libraries=("pyarrow",))
    finally:
        pa.unregister_extension_type("tests.registered")


@pytest.mark.parametrize("tag", ["PIL.Image.Image", "matplotlib.figure.Figure"])
def test_no_constructor_of_a_picture_runs_on_what_was_sent(tag):
    with pytest.raises(NotPortableError):
        decode(forged([0], [[tag, []]]), {})


def test_instance_of_a_class_without_fields_is_a_record():
    class Plain:
        pass

    state = ["__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"]
    parts = ["Plain", *flat((name, [1]) for name in state)]
    sent = forged([0], [["class.record", parts], ["builtins.dict", []]])
    assert type(decode(sent, {"Plain": Plain})) is not Plain
