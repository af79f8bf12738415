from carryover.tasks.lint.statements import read_block


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
