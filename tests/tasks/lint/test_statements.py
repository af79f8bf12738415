"""Statements of a block, with the names that each binds and reads."""

import json
from pathlib import Path

import pytest

from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.lint.statements import LintBlock, Statement, read_block
from carryover.tasks.readers.trace import Block, Reply, Trace

EXPECTED = json.loads(Path(__file__).with_name("blocks.json").read_text(encoding="utf-8"))
NOT_TOLD = {"statements", "tree", "shape"}


def told(found: LintBlock | Statement):
    """Return the fields that hold something; sets sorted, pairs as `module as name`."""
    fields = {}
    for field in set(found._fields) - NOT_TOLD:
        value = getattr(found, field)
        if isinstance(value, frozenset):
            value = sorted(each if isinstance(each, str) else " as ".join(each) for each in value)
        if value:
            fields[field] = value
    return fields


@pytest.mark.parametrize("code", EXPECTED)
def test_a_block_and_its_statements_have_these_names(code):
    block = read_block(code, ("tool",), frozenset({"sum", "max"}))
    statements = [told(statement) for statement in block.statements]
    assert told(block) | {"statements": statements} == EXPECTED[code]


@pytest.mark.parametrize("scope", ["def clean():", "class Clean:"])
def test_what_a_function_or_class_deletes_is_its_own(scope):
    codes = ("rows = [1]", f"{scope}\n    rows = [2]\n    del rows", "print(rows)")
    trace = Trace(trace_id="trace", replies=(Reply("", tuple(map(Block, codes))),))
    found = lint_trace(trace)
    assert (found.carried_names, found.early_names) == (("rows",), ())


def test_names_that_must_exist_before_the_block():
    block = read_block("total = start + 1\nprint(total, json.dumps(rows))", ())
    assert block.reads == {"start", "json", "rows"}
    assert block.binds == {"total"}


def test_a_function_may_read_what_the_block_binds_later():
    block = read_block("def show():\n    print(rows, other)\nrows = []\nshow()", ())
    assert block.reads == {"other"}
    assert block.binds == {"show", "rows"}


def test_tools_and_own_imports_need_not_exist():
    block = read_block("import json\nids = json.loads(list_items())", ("list_items",))
    assert block.reads == frozenset()
    assert (block.imports, block.imported_names) == ({("json", "json")}, {"json"})


def test_statements_have_their_own_names():
    block = read_block("rows = []\n@wrap\ndef add(n):\n    rows.append(n)\na = 1; b = a", ())
    assert [sorted(statement.binds) for statement in block.statements] == [["rows"], ["add"], ["a", "b"]]
    assert [sorted(statement.reads) for statement in block.statements] == [[], ["wrap"], []]
    assert block.statements[1].source == "@wrap\ndef add(n):\n    rows.append(n)"


def test_statements_behind_a_rewritten_line_keep_their_place():
    """The rewritten block has the list on one line."""
    block = read_block("rows = [\n    1,\n]\nfirst = globals()['start']\ntotal = len(rows) + start", ())
    last = block.statements[-1]
    assert (last.source, last.first_line) == ("total = len(rows) + start", 5)
    assert (last.binds, last.reads) == ({"total"}, {"start"})


def test_what_is_not_python_has_no_names():
    block = read_block("rows = [", ())
    assert not block.is_judged
    assert block.statements == ()
