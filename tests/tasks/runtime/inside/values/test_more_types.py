"""Types beyond plain data and frames: each travels unchanged, or is refused with its own way out."""

import array
import collections
import concurrent.futures
import decimal
import functools
import io
import ipaddress
import queue
import random
import re
import threading
import types
import weakref
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from carryover.tasks.runtime.inside.values.plain import Record
from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.inside.values.tree import decode, encode
from carryover.tasks.runtime.objects import InjectionError
from tests.tasks.runtime.inside.values import travelling

TIMES = pd.Series(pd.to_datetime(["2020-01-01", None]))
SPANS = pd.Series(pd.to_timedelta([1, None], unit="D"))
PLAIN_DTYPES = ["int8", "uint64", "float32", "bool", "Int64", "UInt8", "Float32", "boolean", "category", "complex64"]
ARROW_TYPES = [
    pa.decimal128(5, 2),
    pa.date32(),
    pa.list_(pa.int64()),
    pa.struct([("a", pa.int64())]),
    pa.time64("us"),
    pa.duration("s"),
    pa.binary(),
    pa.timestamp("us", "UTC"),
    pa.large_string(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.map_(pa.string(), pa.int64()),
]
SERIES = [
    *(pd.Series([1, 0, 1], dtype=dtype) for dtype in PLAIN_DTYPES),
    pd.Series(["a", None]),
    *(pd.Series(["a", None], dtype=dtype) for dtype in ("string[python]", "string[pyarrow]", object)),
    pd.Series(["a", None], dtype=pd.StringDtype("python", na_value=np.nan)),
    *(TIMES.dt.as_unit(unit) for unit in ("s", "ms", "us", "ns")),
    TIMES.dt.tz_localize("Europe/Berlin"),
    *(SPANS.dt.as_unit(unit) for unit in ("s", "ns")),
    pd.Series(pd.period_range("2020", periods=2, freq="M")),
    pd.Series(pd.interval_range(0, 2)),
    pd.Series(pd.arrays.SparseArray([0, 0, 1])),
    pd.Series(pd.arrays.SparseArray([np.nan, 1.0])),
    pd.Series(pd.Categorical(["a", "b"], ordered=True)),
    *(pd.Series([None, None], dtype=pd.ArrowDtype(kind)) for kind in ARROW_TYPES),
]


def travelled(value, known=None) -> Any:
    """Return a value as it arrives: of its own type, or a record."""
    arrived = travelling.travelled(value, known)
    assert type(arrived) is type(value) or type(arrived) is Record
    return arrived


@pytest.mark.parametrize("series", SERIES, ids=lambda series: str(series.dtype))
def test_series_of_every_dtype_arrives_equal(series):
    pd.testing.assert_series_equal(travelled(series), series)


TENSORS = {
    "float": lambda torch: torch.rand(2, 3),
    "half": lambda torch: torch.ones(2, dtype=torch.bfloat16),
    "integers": lambda torch: torch.arange(3),
    "booleans": lambda torch: torch.tensor([True, False]),
    "complex": lambda torch: torch.ones(2, dtype=torch.complex64).conj(),
    "graded": lambda torch: torch.ones(2, requires_grad=True),
    "turned": lambda torch: torch.rand(2, 3).T,
    "scalar": lambda torch: torch.tensor(1.5),
    "empty": lambda torch: torch.zeros(0, 3),
    "parameter": lambda torch: torch.nn.Parameter(torch.ones(2)),
}


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS.keys())
def test_tensor_arrives_equal(make):
    import torch

    tensor = make(torch)
    arrived = travelled(tensor)
    assert torch.equal(arrived, tensor)
    assert (arrived.dtype, arrived.requires_grad) == (tensor.dtype, tensor.requires_grad)


def test_words_of_torch_arrive_equal():
    import torch

    words = [torch.float32, torch.device("cpu"), torch.Size([2, 3])]
    assert travelled(words) == words


def test_tensor_elsewhere_than_in_memory_is_refused():
    import torch

    with pytest.raises(NotPortableError, match=r"layout torch.sparse_coo does not travel; send tensor.to_dense\(\)"):
        encode(torch.eye(3).to_sparse())
    with pytest.raises(NotPortableError, match=r"a tensor on meta does not travel; send tensor.cpu\(\)"):
        encode(torch.ones(1, device="meta"))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_graph_arrives_with_its_attributes(kind):
    graph = kind(name="roads")
    graph.add_edge(1, "a", length=2.0)
    graph.add_edge(1, "a", length=3.0)
    graph.add_node((1, 2), colour="red")
    arrived = travelled(graph)
    assert arrived.graph == {"name": "roads"}
    assert list(arrived.nodes(data=True)) == list(graph.nodes(data=True))
    assert list(arrived.edges(data=True)) == list(graph.edges(data=True))


FORMATS = ["csr", "csc", "bsr", "coo", "dia", "dok", "lil"]


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_matrix_arrives_in_its_format(form, kind):
    matrix = getattr(sp, f"{form}_{kind}")(np.array([[1.5, 0], [0, 0], [2, 3]]))
    arrived = travelled(matrix)
    assert (arrived.shape, arrived.dtype) == (matrix.shape, matrix.dtype)
    assert (arrived.toarray() == matrix.toarray()).all()


def test_sparse_matrix_with_indices_outside_is_refused():
    matrix = sp.csr_matrix(np.eye(3))
    matrix.indices[0] = 1 << 20
    encoded = encode(matrix)
    content = memoryview(bytearray(encoded.size))
    encoded.write(content)
    with pytest.raises(NotPortableError, match="malformed data: ValueError"):
        decode(content, {})


def test_masked_array_arrives_with_mask_and_fill_value():
    array_ = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False], fill_value=9.0)
    arrived = travelled(array_)
    assert (arrived.filled() == [1.0, 9.0, 3.0]).all()
    assert travelled(np.ma.masked_array([1])).mask is np.ma.nomask
    assert travelled([np.ma.masked])[0] is np.ma.masked


def test_lazy_frame_arrives_collected():
    frame = pl.LazyFrame({"a": [1, 2]}).filter(pl.col("a") > 1)
    assert travelled(frame).collect().equals(pl.DataFrame({"a": [2]}))


ERRORS = [
    ValueError("x", 2),
    KeyError("a"),
    OSError(2, "not there", "file"),
    UnicodeDecodeError("utf8", b"a", 0, 1, "reason"),
    ZeroDivisionError(),
    StopIteration(3),
    SystemExit(2),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_exception_arrives_with_its_arguments(error):
    error.add_note("a note")
    arrived = travelled(error)
    assert (repr(arrived), str(arrived), arrived.__notes__) == (repr(error), str(error), ["a note"])


def test_group_of_exceptions_arrives_whole():
    group = travelled(ExceptionGroup("several", [ValueError("x"), KeyError(1)]))
    assert (group.message, [repr(one) for one in group.exceptions]) == ("several", ["ValueError('x')", "KeyError(1)"])


class RefusedOrderError(ValueError):
    """An error of the user's that counts its constructions."""

    made = 0

    def __init__(self, order):
        super().__init__(f"order {order}")
        self.order = order
        RefusedOrderError.made += 1


def test_exception_of_the_users_arrives_without_running_its_code():
    error = RefusedOrderError(7)
    arrived = travelled(error, {"RefusedOrderError": RefusedOrderError})
    assert (arrived.args, arrived.order, RefusedOrderError.made) == (("order 7",), 7, 1)
    assert travelled(error) == Record("RefusedOrderError", {"args": ("order 7",), "order": 7})


OTHERS = [
    array.array("d", [1.0, 2.0]),
    re.compile("a+", re.IGNORECASE),
    re.compile(b"a"),
    types.SimpleNamespace(a=1, b=[2]),
    types.MappingProxyType({"a": 1}),
    collections.ChainMap({"a": 1}, {"b": 2}),
    collections.UserDict(a=1),
    *map(ipaddress.ip_address, ("1.2.3.4", "::1")),
    ipaddress.ip_network("1.2.3.0/24"),
    ...,
    NotImplemented,
    int,
    np.dtype("i4"),
    np.dtype([("a", "i4"), ("b", "f8")]),
    pd.offsets.MonthEnd(2),
    pd.offsets.BDay(1),
    decimal.Decimal("1.20"),
]


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_value_of_pythons_library_arrives_equal(value):
    assert travelled(value) == value


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_of_arrays_keep_their_class():
    records = np.rec.fromrecords([(1, "a")], dtype=[("number", "i8"), ("text", "U1")])
    assert (travelled(records).number == [1]).all()
    assert (travelled(np.matrix([[1, 2]])) == np.matrix([[1, 2]])).all()


def test_buffers_arrive_with_their_position():
    buffer = io.BytesIO(b"abc")
    buffer.seek(1)
    text = io.StringIO("a\r\nb")
    text.seek(2)
    arrived = travelled([buffer, text])
    assert [one.getvalue() for one in arrived] == [b"abc", "a\r\nb"]
    assert [one.tell() for one in arrived] == [1, 2]


class _Score:
    pass


_SCORE = _Score()
REFUSED = {
    "send list\\(...\\) of it": ({}.keys(), {}.values(), zip(), iter([]), (one for one in ())),
    "send bytes\\(...\\) of it": (memoryview(b"a"),),
    "inject it under a name": (functools.partial(int), len),
    "send its seed": (np.random.default_rng(1),),
    "aggregate it first": (pd.DataFrame({"a": [1]}).groupby("a"),),
    "send match.groups\\(\\)": (re.match("a", "a"),),
    "a DateOffset with keywords does not travel; send offset.kwds": (pd.DateOffset(days=1, hours=2),),
    "the class Record does not travel; inject it under its own name": (Record,),
    'inject it by="reference"': (object(),),
    'send what it reads, or inject it by="reference"': (io.TextIOWrapper(io.BytesIO()),),
    "make one where it is used": (threading.Lock(), threading.RLock(), threading.Condition(), threading.Event()),
    "send the object that it refers to": (weakref.ref(_SCORE), weakref.proxy(_SCORE)),
    "write it where it is used": (list[int], int | None, pl.col("a")),
    "send a list of what it holds": (queue.Queue(),),
    "send its result": (concurrent.futures.Future(),),
}


@pytest.mark.parametrize("way_out", REFUSED)
def test_refusal_says_what_to_send_instead(way_out):
    for value in REFUSED[way_out]:
        with pytest.raises(NotPortableError, match=way_out):
            encode([value])


class Queue(random.Random):
    """A class of the user's that has the name of one of Python's."""


def test_hint_of_a_library_is_not_given_for_a_users_class():
    with pytest.raises(NotPortableError, match="a value of type Queue does not travel; send plain data"):
        encode([Queue()])


@pytest.mark.parametrize("value", [pl.Series([1]), pl.Series("", ["a"]), pl.DataFrame({"": [1], "a": [2]})])
def test_columns_without_a_name_keep_none(value):
    back = travelled(value)
    assert back.equals(value)
    assert back.to_frame().columns == [""] if isinstance(value, pl.Series) else back.columns == ["", "a"]


@pytest.mark.parametrize("value", [collections.UserList([1]), collections.UserString("a")])
def test_users_containers_travel(value):
    assert (travelled(value), type(travelled(value))) == (value, type(value))


@pytest.mark.slow
def test_tensors_graphs_and_sparse_matrices_cross_the_sandbox(fork_tree_with_files):
    import torch

    from carryover.tasks.runtime.contract import CONTRACTS

    with fork_tree_with_files.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a") as interpreter:
        interpreter.inject("tensor", torch.arange(3))
        interpreter.inject("graph", nx.path_graph(3))
        interpreter.inject("matrix", sp.csr_array(np.eye(2)))
        code = "doubled = tensor * 2\ngraph.add_edge(5, 6)\nmatrix = matrix * 3\nerror = ValueError('x')"
        assert interpreter.run_block(code).error is None
        assert interpreter.retrieve("doubled").tolist() == [0, 2, 4]
        assert interpreter.retrieve("graph").number_of_edges() == 3
        assert interpreter.retrieve("matrix").sum() == 6
        assert repr(interpreter.retrieve("error")) == "ValueError('x')"
        with pytest.raises(InjectionError, match="send list"):
            interpreter.inject("numbers", iter([]))
