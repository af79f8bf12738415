"""`carryover.lint` tells apart what it is given, and refuses the rest."""

import json
from dataclasses import replace

import pytest

import carryover
from carryover.tasks.lint.linting import traces_of, with_contract
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Block, Reply, Trace
from carryover.tasks.services.errors import UserError

MESSAGES = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "```python\nx = 1\n```"},
    {"role": "user", "content": "ok"},
    {"role": "assistant", "content": "```python\nprint(x)\n```"},
]
TRANSCRIPT = "```python\nx = 1\n```\nthen\n~~~\nprint(x)\n~~~"
TRACE = Trace(trace_id="trace", replies=(Reply("", (Block("x = 1"), Block("print(x)"))),))


def test_a_path_is_read(tmp_path):
    path = tmp_path / "chat"
    path.write_text(json.dumps({"messages": MESSAGES}))
    for source in (path, str(path), tmp_path):
        assert carryover.lint(source).traces[0].carried_names == ("x",)


@pytest.mark.parametrize(
    "source",
    [
        TRANSCRIPT,
        MESSAGES,
        {"messages": MESSAGES},
        [{"messages": MESSAGES}],
        [MESSAGES],
        tuple(MESSAGES),
        iter([MESSAGES]),
        TRACE,
        [TRACE],
        (each for each in [TRACE]),
        [TRANSCRIPT],
    ],
)
def test_texts_messages_and_traces_are_told_apart(source):
    (found,) = carryover.lint(source).traces
    assert (found.carried_names, found.block_count) == (("x",), 2)


@pytest.mark.parametrize("text", ["x = 1\nprint(x)", "!ls", "  %pip install x\ny = (1"])
def test_a_text_without_blocks_is_one_block_of_python(text):
    (found,) = carryover.lint(text).traces
    assert (found.trace_id, found.layout, found.block_count) == ("text", "a text", 1)


def test_a_report_of_blocks_that_stand_alone_is_safe():
    assert carryover.lint("x = 1").is_stateless_safe is True
    assert carryover.lint([TRACE, "x = 1"]).is_stateless_safe is False


def test_an_iterable_is_read_one_by_one():
    def traces():
        yield TRACE
        raise AssertionError("nobody asked for a second trace")

    assert next(traces_of(traces(), Tally())) == TRACE


@pytest.mark.parametrize(
    ("own", "given", "declared"),
    [(None, "stateless", "stateless"), ("persistent", "stateless", "persistent"), ("persistent", None, "persistent")],
)
def test_a_contract_is_for_traces_that_declare_none(own, given, declared):
    assert with_contract(replace(TRACE, declared_contract=own), given).declared_contract == declared


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("file.jsonl", "no file file.jsonl; name a trace file or a folder, or pass its text"),
        ("runs/absent", "no file runs/absent"),
        ("This is prose.", "neither a transcript nor Python: 'This is prose.'"),
        ("", "neither a transcript nor Python"),
        (" \n ", "neither a transcript nor Python"),
        (3, "cannot lint int; give a path, a text, messages or an iterable of traces"),
        (None, "cannot lint NoneType"),
        (b"x = 1", "cannot lint bytes"),
        ([3], "cannot lint int"),
        ([], "no code found in 0 traces"),
        ({"rows": 1}, "no code found in 0 traces: 1 unread: unknown layout"),
        ([{"role": "assistant", "content": "hi"}], "no code found in 1 traces: no block, tag or call that runs code"),
        ("```r\nx <- 1\n```", "no code found in 1 traces: 1 unread: a block of r"),
    ],
)
def test_anything_else_is_refused(source, message):
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        carryover.lint(source)


def test_the_report_is_a_sentence_with_numbers():
    report = carryover.lint(MESSAGES, contract="reset")
    assert str(report) == report.verdict
    assert report.verdict == (
        "1 of 1 episode fails in a stateless runtime; first at block 2, name `x`; "
        "as they were played, 0 of 0 reads of earlier names failed"
    ).removesuffix("; as they were played, 0 of 0 reads of earlier names failed")
    assert not report.is_stateless_safe
    assert report.traces[0].contradiction == "declared stateless, but later blocks read x of earlier ones"


def test_what_is_not_read_is_reported():
    report = carryover.lint([{"messages": MESSAGES}, {"rows": 1}])
    assert len(report.traces) == 1
    assert report.unread == ("1 unread: unknown layout (first: element 2 of the value, an object with rows)",)
