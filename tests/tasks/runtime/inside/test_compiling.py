import ast

import pytest

from carryover.tasks.runtime.inside.compiling import compile_block

EXPRESSIONS = {
    "1 + 1": 2,
    "x = 1\nx": 1,
    "x = 1; x": 1,
    "x = [1, 2, 3]; x.pop()": 3,
    "x = [1, 2, 3]\nx.pop()": 3,
    "\n\n7": 7,
    "x = [\n    1,\n    2,\n]\nx[\n    0\n]": 1,
    "x = 1\n# comment\nx  # another\n\n": 1,
    "x = '''\n1\n'''\nint(x)": 1,
    "'''\nx = 1\n'''": "\nx = 1\n",
    "str('''a\nb = 2''')": "a\nb = 2",
    "x = 3\n1, *[x]": (1, 3),
    "*[1], 2": (1, 2),
    "x = 1\nx == 1": True,
    "x = 1\nx \\\n  + 1": 2,
    "1 + \\\n2": 3,
    "(y := 5)": 5,
    "def f():\n    return 7\n\nf()": 7,
    "'docstring'": "docstring",
    "importance = 4\nimportance": 4,
    "x = {'a': 1}\r\nx['a']": 1,
    "lambda_ = lambda a=1: a\nlambda_(2)": 2,
    "not []": True,
    "sorted(\n[2, 1]\n)": [1, 2],
    "if True: x = 1; y = 2\nx + y": 3,
}
NO_EXPRESSIONS = (
    "x = 1",
    "x = 1\nx += 1",
    "x, y = 1, 2",
    "x: int = 1",
    "x = '''a\nb'''",
    "x = ('''a\nb = 2''')",
    "import json; y = 1",
    "if True:\n    5",
    "if False:\n    5\nelse:\n    6",
    "for i in ():\n    i\nelse:\n    7",
    "try:\n    1\nfinally:\n    2",
    "def f():\n    '''text\nf = 1\n'''\n    return 1",
    "@staticmethod\ndef f(): pass",
    "x = {}\nx['a'] = 1",
    "match 1:\n    case 1:\n        2",
    "pass",
    "",
    "\n\n# only a comment",
    "x = \\\n1",
    "1;",
    "(1) ; # told to nobody",
    "x = 'é'; x;",
)


def run(source: str) -> tuple[object, set[str]]:
    compiled = compile_block(source, "<step 1>")
    namespace: dict[str, object] = {}
    for statements in compiled.statements:
        exec(statements, namespace)
    value = eval(compiled.value, namespace) if compiled.value is not None else None
    return value, {name for name in namespace if not name.startswith("__")}


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_last_expression_has_its_value(source):
    assert run(source)[0] == EXPRESSIONS[source]


@pytest.mark.parametrize("source", NO_EXPRESSIONS)
def test_last_statement_has_none(source):
    value, names = run(source)
    namespace: dict[str, object] = {}
    exec(source, namespace)
    assert value is None
    assert compile_block(source, "<step 1>").value is None
    assert names == {name for name in namespace if not name.startswith("__")}


@pytest.mark.parametrize("source", [*EXPRESSIONS, *NO_EXPRESSIONS])
def test_tree_agrees_on_what_the_last_statement_is(source):
    body = ast.parse(source).body
    is_silenced = source in ("1;", "(1) ; # told to nobody", "x = 'é'; x;")
    is_expression = bool(body) and isinstance(body[-1], ast.Expr) and not is_silenced
    assert (compile_block(source, "<step 1>").value is not None) == is_expression


@pytest.mark.parametrize(
    "source", ["x = (", "x = 1\n)", "if True:\nx", "x = 1\n  y", "'''a\nb", "x = 1 +\\\n", "1 = x"]
)
def test_error_is_that_of_the_whole_block(source):
    with pytest.raises(SyntaxError) as whole:
        compile(source, "<step 1>", "exec")
    with pytest.raises(SyntaxError) as block:
        compile_block(source, "<step 1>")
    assert (str(block.value), block.value.lineno) == (str(whole.value), whole.value.lineno)
    assert block.value.__context__ is None


@pytest.mark.parametrize("source", ["x = 1\n\n\nmissing", "x = 1\r\n\r\n\r\nmissing", "x = 1\r\r\rmissing"])
def test_lines_are_those_of_the_block(source):
    compiled = compile_block(source, "<step 1>")
    assert compiled.value is not None
    assert max(line for _, _, line in compiled.value.co_lines() if line is not None) == 4


def test_future_import_holds_for_the_last_statement():
    namespace: dict[str, object] = {}
    for statements in compile_block(
        "from __future__ import annotations\ndef f(x: missing): pass", "<step 1>"
    ).statements:
        exec(statements, namespace)
    assert "f" in namespace


@pytest.mark.parametrize("last", ["x = 2", "x", "def f(): pass"])
def test_compiler_warns_once(last):
    with pytest.warns(SyntaxWarning) as warned:
        compile_block(f"if 1 is x:\n    pass\n{last}", "<step 1>")
    assert len(warned) == 1
