"""Hostile blobs on their way to the host: the reader refuses what would end, hang or fill it."""

import fcntl
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from carryover.tasks.runtime.inside.values.transfer import fill
from carryover.tasks.runtime.inside.values.tree import encode
from carryover.tasks.runtime.objects import RetrievalError, SharedMemory, read_value
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched, check, fetch
from tests.tasks.runtime import forged_schemas

MIB = 1 << 20
SPEC = RuntimeSpec(object_limit_bytes=MIB)
GROWTH_BYTES = 64 * MIB
"""What the host may grow by for a hostile blob, libraries included."""
LIBRARIES = ["polars", "pandas", "pyarrow"]


def sealed(blob: bytes, libraries: tuple[str, ...] = ()) -> Fetched:
    memory = SharedMemory(len(blob))
    os.pwrite(memory.descriptor, blob, 0)
    memory.seal()
    return Fetched(memory, libraries)


@pytest.mark.parametrize("size", [5, 20])
def test_shared_memory_keeps_its_size(size):
    memory = SharedMemory(10)
    with pytest.raises(PermissionError):
        os.ftruncate(memory.descriptor, size)


def test_sealed_memory_takes_no_write():
    memory = SharedMemory(10)
    os.pwrite(memory.descriptor, b"before", 0)
    memory.seal()
    with pytest.raises(PermissionError):
        os.pwrite(memory.descriptor, b"after", 0)
    with pytest.raises(PermissionError):
        fcntl.fcntl(memory.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def blob_of(part: Any, nodes: list[Any], contents: bytes = b"") -> bytes:
    head = json.dumps([part, nodes]).encode()
    start = -(-(8 + len(head)) // 64) * 64
    return (len(head).to_bytes(8, "little") + head).ljust(start, b"\0") + contents


def frame_of(content: bytes, library: str) -> Fetched:
    """Return a stream as the frame of a library."""
    table = ["pyarrow.Table", [], len(content)]
    nodes = {
        "pyarrow": [table],
        "polars": [["polars.DataFrame", [[1]]], table],
        "pandas": [
            ["pandas.Series", [[1], [2], None, [3]]],
            ["pandas.arrays.ArrowExtensionArray", [[4]]],
            ["pandas.RangeIndex", [0, 1, 1, None]],
            ["builtins.dict", []],
            ["pyarrow.ChunkedArray", [[5]]],
            table,
        ],
    }[library]
    return sealed(blob_of([0], nodes, content), ("numpy", "pandas", "polars", "pyarrow"))


def retrieved(fetched: Fetched) -> Any:
    """Return what the host makes of a blob, or why it is refused; it grows by little either way."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = memory_bytes("VmRSS")
    try:
        check("basket", fetched, SPEC)
        return read_value("basket", fetched.memory.view(), {}, fetched.libraries)
    except RetrievalError as error:
        return str(error)
    finally:
        assert memory_bytes("VmHWM") - before < GROWTH_BYTES


def memory_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def stream(table: pa.Table, **options) -> bytes:
    target = io.BytesIO()
    with pa.ipc.new_stream(target, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return target.getvalue()


def table_of(*columns: pa.Array) -> pa.Table:
    return pa.Table.from_arrays(columns, [f"column_{number}" for number in range(len(columns))])


def repeated(kind: pa.DataType, count: int, *buffers: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, *(pa.py_buffer(buffer) for buffer in buffers)])


LONG = pa.array(["x" * 100_000])
ZEROS = pa.array(np.zeros(40_000_000, "int64"))
GROWING = {
    "nulls": stream(table_of(pa.nulls(20_000_000))),
    "lists of nulls": stream(table_of(pa.FixedSizeListArray.from_arrays(pa.nulls(20_000_000), 10_000_000))),
    "structs of nothing": stream(table_of(repeated(pa.struct([]), 2_000_000))),
    "categories": stream(table_of(pa.DictionaryArray.from_arrays(pa.array(np.zeros(500_000, "int8")), LONG))),
    "columns": stream(table_of(*[pa.nulls(0)] * 2_000)),
    "runs": stream(table_of(pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], "int32"), pa.array([1])))),
    "zstd": stream(table_of(ZEROS), compression="zstd"),
    "lz4": stream(table_of(ZEROS), compression="lz4"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("content", GROWING.values(), ids=GROWING)
def test_stream_that_would_grow_is_refused_or_stays_small(library, content):
    assert len(content) < 3 * MIB
    retrieved(frame_of(content, library))


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_stream_beyond_the_limit_is_refused(codec):
    refusal = retrieved(frame_of(GROWING[codec], "polars"))
    assert "basket: " in refusal


def test_repetitive_schema_does_not_fill_the_host():
    outcomes = {name: retrieved(frame_of(make(), "pyarrow")) for name, make in forged_schemas.FORGED.items()}
    assert type(outcomes.pop("honest")) is pa.Table
    assert len(outcomes) == 7


@pytest.mark.parametrize("library", LIBRARIES)
def test_damaged_stream_is_read_or_refused(library):
    good = stream(table_of(pa.array(["a", "bc", None])))
    for position in range(0, len(good), 23):
        bent = bytearray(good)
        bent[position] ^= 0xFF
        for content in (good[:position], bytes(bent)):
            retrieved(frame_of(content, library))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 64, bytes(64)], ids=repr)
def test_garbage_in_place_of_a_stream_is_refused(library, content):
    assert type(retrieved(frame_of(content, library))) is str


def test_offsets_that_leave_their_buffer_are_refused():
    texts = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1 << 20, 2], "i4")), pa.py_buffer(b"abcd")]
    )
    assert "malformed" in retrieved(frame_of(stream(table_of(texts)), "pyarrow"))


def test_text_of_json_that_would_grow_is_refused():
    refusal = retrieved(sealed(blob_of([0], [["builtins.list", []]]) + b""))
    assert refusal == []
    head = b'[[0],[["builtins.list",[' + b"[]," * 4_000_000 + b"[]]]]]"
    refusal = retrieved(sealed(len(head).to_bytes(8, "little") + head))
    assert type(refusal) is str


def test_blob_that_hangs_or_ends_its_reader_is_refused():
    pairs: list[Any] = [["builtins.tuple", [[place], [place]]] for place in range(2, 60)]
    doubled = retrieved(sealed(blob_of([0], [["builtins.set", [[1]]], *pairs, ["builtins.tuple", []]])))
    if sys.version_info < (3, 14):
        assert "ended the process" in doubled
    else:  # a tuple keeps its hash, which is computed once, not 2**58 times
        assert type(doubled) is set
    deep: list[Any] = [["builtins.tuple", [[place]]] for place in range(2, 400_000)]
    refusal = retrieved(sealed(blob_of([0], [["builtins.set", [[1]]], *deep, ["builtins.tuple", []]])))
    assert type(refusal) is str
    assert retrieved(sealed(blob_of([0], [["builtins.list", [1]]]))) == [1]


def test_memory_that_somebody_can_still_write_to_is_refused():
    encoded = encode(bytes(1_000_000))
    kept: list[Any] = []

    def ask(message: tuple[Any, ...], descriptors: tuple[int, ...]) -> Any:
        if message[0] == "fetch":
            return {"size": encoded.size, "libraries": []}
        import mmap

        fill(descriptors[0], encoded)
        kept.append(mmap.mmap(descriptors[0], encoded.size))
        return None

    with pytest.raises(RetrievalError, match="x: a process of the sandbox keeps its memory mapped for writing"):
        fetch(ask, "x", 2 * MIB)


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"size": 0, "libraries": []}, {"size": 5, "libraries": ["os"]}, {"size": True, "libraries": [[]]}],
)
def test_malformed_announcement_is_refused(answer):
    with pytest.raises(RetrievalError, match="x: malformed answer"):
        fetch(lambda *_asked: answer, "x", MIB)


@pytest.mark.parametrize("content", ["zstd", "lz4"])
def test_value_that_takes_too_much_memory_names_the_limit(content):
    """320 MB of zeros, compressed."""
    told = retrieved(frame_of(GROWING[content], "pyarrow"))
    assert told.endswith(f"object_limit_bytes is {MIB}, raise it")
