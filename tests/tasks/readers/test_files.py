"""Files of every kind, told by content; what is not read is counted with its reason."""

import gzip
import io
import json
import random
import sys
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet
import pytest

from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.services.errors import UserError

CHAT = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "First.\n```python\nx = 1\n```"},
    {"role": "user", "content": "ok"},
    {"role": "assistant", "content": "Nothing to run."},
]
RECORD = {"id": "a", "contract": "reset", "messages": CHAT}
LINE = json.dumps(RECORD)


def read(path):
    tally = Tally()
    return [trace.trace_id for trace in read_traces(path, tally)], dict(tally.unread)


def table(records):
    return pa.Table.from_pylist(records)


def write_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table([RECORD]).schema) as stream:
        stream.write_table(table([RECORD]))


def write_arrow_file(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table([RECORD]).schema) as arrow:
        arrow.write_table(table([RECORD]))


def parquet_bytes():
    written = io.BytesIO()
    pyarrow.parquet.write_table(table([RECORD]), written)
    return written.getvalue()


def zstandard(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


def write_zstandard_zip(path):
    """Write a zip whose member has method 93, which zipfile itself neither writes nor reads."""
    member = zipfile.ZipInfo("deep/chat.jsonl")
    member.extra = b"\xca\xfe\x00\x00"  # a field without content
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, zstandard(LINE.encode()))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + offset] = 93
    path.write_bytes(content)


def write_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("deep/chat.jsonl", LINE)


def write_nested_zip(path):
    inner = io.BytesIO()
    write_zip(inner)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner.eval", inner.getvalue())


def write_compressed_zip(path):
    inner = io.BytesIO()
    write_zip(inner)
    path.write_bytes(gzip.compress(inner.getvalue()))


WRITERS = {
    "JSON": lambda path: path.write_text(LINE),
    "indented JSON": lambda path: path.write_text(json.dumps(RECORD, indent=2)),
    "JSON lines": lambda path: path.write_text(f"\n{LINE}\n\n"),
    "JSON list": lambda path: path.write_text(f"[{LINE}]"),
    "JSON with a mark": lambda path: path.write_bytes(b"\xef\xbb\xbf" + LINE.encode()),
    "lines of lists": lambda path: path.write_text(f"[{LINE}]\n"),
    "gzip": lambda path: path.write_bytes(gzip.compress(LINE.encode())),
    "Parquet": lambda path: pyarrow.parquet.write_table(table([RECORD]), path),
    "Arrow stream": write_stream,
    "Arrow file": write_arrow_file,
    "zip": write_zip,
    "Zstandard": lambda path: path.write_bytes(zstandard(LINE.encode())),
    "Zstandard in frames": lambda path: path.write_bytes(zstandard(LINE[:50].encode()) + zstandard(LINE[50:].encode())),
    "Parquet under Zstandard": lambda path: path.write_bytes(zstandard(parquet_bytes())),
    "zip with Zstandard": write_zstandard_zip,
    "zip in a zip": write_nested_zip,
    "zip under gzip": write_compressed_zip,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_chat_in_every_kind_of_file(tmp_path, kind):
    path = tmp_path / "recording"
    WRITERS[kind](path)
    (trace,) = read_traces(path)
    assert (trace.trace_id, trace.declared_contract) == ("a", "stateless")
    assert [(block.code, block.output) for block in trace.blocks] == [("x = 1", "ok")]
    assert [reply.text for reply in trace.replies] == ["First.\n```python\nx = 1\n```", "Nothing to run."]


@pytest.mark.parametrize("write", ["Zstandard", "zip with Zstandard"])
def test_zstandard_without_pyarrow_says_what_it_needs(tmp_path, monkeypatch, write):
    WRITERS[write](tmp_path / "traces")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    tally = Tally()
    assert list(read_traces(tmp_path / "traces", tally)) == []
    assert dict(tally.unread) == {"Zstandard needs pyarrow; install carryover with pyarrow": 1}


def test_a_folder_of_four_traces_reads_four(tmp_path):
    (tmp_path / "deep").mkdir()
    for number, name in enumerate(("one.json", "two.JSONL", "deep/three", "deep/four.trace")):
        (tmp_path / name).write_text(json.dumps({**RECORD, "id": str(number)}))
    (tmp_path / ".hidden").write_text(LINE)
    ids, unread = read(tmp_path)
    assert (sorted(ids), unread) == (["0", "1", "2", "3"], {"hidden file": 1})


def test_files_of_one_event_each_are_a_trace_per_folder(tmp_path):
    say = {"source": "user", "action": "message", "args": {"content": "Count."}}
    run = {"source": "agent", "action": "run_ipython", "args": {"code": "x = 1"}}
    done = {"source": "agent", "observation": "run_ipython", "content": "ok", "cause": 9}
    for session in ("a", "b"):
        folder = tmp_path / session / "events"
        folder.mkdir(parents=True)
        for number, event in ((2, say), (9, run), (10, done)):
            (folder / f"{number}.json").write_text(json.dumps({"id": number, **event}))
    tally = Tally()
    traces = list(read_traces(tmp_path, tally))
    assert [trace.trace_id for trace in traces] == ["a", "b"]
    assert [[(block.code, block.output) for block in trace.blocks] for trace in traces] == [[("x = 1", "ok")]] * 2
    assert tally.unread == {}


def test_files_of_one_message_each_are_a_trace_each(tmp_path):
    for name, message in (("a", CHAT[1]), ("b", CHAT[3])):
        (tmp_path / f"{name}.json").write_text(json.dumps(message))
    assert read(tmp_path) == (["a", "b"], {})


def test_a_data_set_on_disk_is_its_rows(tmp_path):
    write_stream(tmp_path / "data-00000-of-00001.arrow")
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [], "_fingerprint": "f", "_split": "train"}))
    (tmp_path / "dataset_info.json").write_text(json.dumps({"citation": "", "features": {}, "license": ""}))
    tally = Tally()
    assert [trace.trace_id for trace in read_traces(tmp_path, tally)] == ["a"]
    assert (tally.unread, tally.passed_over()) == ({}, ["2 records beside traces that hold none"])


def test_the_progress_of_lines_is_told_line_by_line(tmp_path):
    lines = [
        json.dumps({"messages": [{"role": "user", "content": word}]}) + "\n" for word in ("one", "three", "fifteen")
    ]
    (tmp_path / "chats.jsonl").write_text("".join(lines))
    told = []
    list(read_traces(tmp_path / "chats.jsonl", Tally(show_bytes=told.append)))
    assert told == [len(line) for line in lines]


def test_an_unnamed_trace_is_named_by_its_place(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join([json.dumps({"messages": CHAT})] * 2))
    assert read(path)[0] == ["chat-1", "chat-2"]


def tar_bytes():
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        member = tarfile.TarInfo("chat.jsonl")
        member.size = len(LINE)
        archive.addfile(member, io.BytesIO(LINE.encode()))
    return written.getvalue()


NESTED = json.dumps(
    {"messages": [{"role": "assistant", "tool_calls": [{"name": "python", "arguments": '{"a":' * 100_000}]}]}
)
NOISE = random.Random(1).randbytes(100_000)
"""What no compression makes shorter."""


def zip_bytes(change):
    """Return a zip of one member, changed."""
    written = io.BytesIO()
    write_zip(written)
    return change(written.getvalue())


def encrypt(content):
    """Return a zip whose member declares a password."""
    changed = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[content.index(signature) + offset] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[]", "no record in the file"),
        pytest.param(b"[" * 100_000, "not JSON in UTF-8", id="absurd nesting"),
        (b"\x1f\x8b\x08\x00garbage of gzip", "damaged file"),
        # archives hold the time: their bytes are no name of a case
        pytest.param(tar_bytes(), "a tar archive", id="tar"),
        pytest.param(zip_bytes(encrypt), "encrypted zip member", id="encrypted member"),
        pytest.param(
            zip_bytes(lambda content: content.replace(b"messages", b"massages", 1)),
            "damaged zip member",
            id="damaged member",
        ),
        (b"", "empty file"),
        (b"\n\n", "empty file"),
        (b"prompt,answer\n1,2", "plain text"),
        (b'{"messages": [', "not JSON in UTF-8"),
        (b"\xff\xfe{}", "neither JSON nor text in UTF-8"),
        (b'{"rows": [1]}', "unknown layout"),
        (b"[1, 2]", "unknown layout"),
        (b"PK\x03\x04 not a zip", "damaged zip"),
        (b"PAR1 not Parquet", "damaged Parquet"),
        (b"\x28\xb5\x2f\xfd", "damaged file"),
        (zstandard(LINE.encode())[:-9], "damaged file"),
        (gzip.compress(LINE.encode(), mtime=0)[:-30], "damaged file"),
        (gzip.compress(b"PK\x03\x04" + NOISE, mtime=0)[:-30], "damaged file"),
        (gzip.compress(b"PAR1" + NOISE, mtime=0)[:-30], "damaged file"),
        (NESTED.encode(), "differs from a chat data set"),
        (b'{"messages": [{"role": "assistant", "content": "hi"}, 3]}', "differs from a chat data set"),
    ],
)
def test_what_is_not_read_is_counted_with_its_reason(tmp_path, content, reason):
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "good.json").write_text(LINE)
    ids, unread = read(tmp_path)
    assert ids == ["a"]
    (told,) = unread
    assert told.startswith(reason)


@pytest.mark.parametrize("line_count", [1, 2])
def test_strings_may_hold_control_characters(tmp_path, line_count):
    """Terminals colour what a block prints, and some writers leave such bytes unescaped."""
    (tmp_path / "chat.jsonl").write_text("\n".join([LINE.replace('"ok"', '"\x1b[32mok\t"')] * line_count))
    assert read(tmp_path) == (["a"] * line_count, {})


def test_blank_lines_are_passed_over(tmp_path):
    (tmp_path / "chat.jsonl").write_text(f"{LINE}\n\n  \n{LINE}\n\t\n")
    assert read(tmp_path) == (["a", "a"], {})


def test_a_bad_line_leaves_the_others(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text(f'{LINE}\nnot JSON\n{{"prompt": "x"}}\n{LINE}')
    tally = Tally()
    assert len(list(read_traces(path, tally))) == 2
    assert tally.unread == {"a line that is not JSON in UTF-8": 1, "unknown layout": 1}
    assert tally.sentences()[1] == f"1 unread: unknown layout (first: line 3 of {path}, an object with prompt)"


def test_a_broken_first_line_leaves_the_others(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text(f"{LINE[:30]}\n{LINE}\n{LINE}\n")
    assert read(path) == (["a", "a"], {"a line that is not JSON in UTF-8": 1})


def test_a_transcript_may_print_a_line_of_json(tmp_path):
    path = tmp_path / "transcript.txt"
    path.write_text('Go.\n```python\nprint(x)\n```\nOutput:\n{"a": 1}\n')
    ids, unread = read(path)
    assert (len(ids), unread) == (1, {})


def test_blocks_of_texts_that_did_not_run_are_counted(tmp_path):
    path = tmp_path / "chat.json"
    call = {"role": "assistant", "tool_calls": [{"name": "python", "arguments": "x = 1"}]}
    path.write_text(json.dumps({"messages": [call, CHAT[1]]}))
    tally = Tally()
    list(read_traces(path, tally))
    assert tally.read_sentence() == (
        "read 1 episodes and 1 blocks: a chat data set (1); 1 blocks of texts that these agents' frameworks do not run"
    )


def test_what_was_read_is_counted_with_blocks_and_calls(tmp_path):
    path = tmp_path / "chat.jsonl"
    calls = [{"name": "search", "arguments": {"query": "x"}}, {"name": "python", "arguments": {"first": 1}}]
    asking = {"messages": [{"role": "assistant", "tool_calls": calls}]}
    path.write_text(f"{LINE}\n{json.dumps(asking)}")
    tally = Tally()
    list(read_traces(path, tally))
    assert tally.read_sentence() == (
        "read 2 episodes and 1 blocks: a chat data set (2); 1 calls of tools that run no code: search (1)"
    )
    assert tally.sentences() == ["1 unread: call of python without source code"]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no file .*absent; name a trace file or a folder"):
        list(read_traces(tmp_path / "absent"))


def test_bytes_that_were_passed_are_the_size_of_the_files(tmp_path):
    (tmp_path / "a.jsonl").write_text(f"{LINE}\n{LINE}\n")
    (tmp_path / "b.json").write_text(LINE)
    passed = []
    tally = Tally(show_bytes=passed.append)
    list(read_traces(tmp_path, tally))
    assert sum(passed) == sum(file.stat().st_size for file in tmp_path.iterdir())


def test_documents_after_one_another_are_read_until_damage(tmp_path):
    document = json.dumps(json.loads(LINE), indent=2)
    path = tmp_path / "printed"
    path.write_text(f"{document}\n{document}\n{{broken", encoding="utf-8")
    tally = Tally()
    traces = list(read_traces(path, tally))
    assert [trace.place for trace in traces] == [f"document 1 of {path}", f"document 2 of {path}"]
    assert tally.sentences()[0].startswith(f"1 unread: not JSON in UTF-8 (first: document 3 of {path}")
