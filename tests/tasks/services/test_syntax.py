import ast
import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from carryover.tasks.services import syntax
from carryover.tasks.services.syntax import calls_finish, parse_python, source_text


def test_many_threads_may_parse_at_once():
    source = "\n".join(f"value_{number} = [{number} + 1, ({number}, {{'a': {number}}})]" for number in range(100))
    expected = ast.dump(ast.parse(source))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse_python, [source] * 64))
    assert {ast.dump(tree) for tree in trees} == {expected}


def test_many_threads_may_ask_for_sources_and_trees_at_once():
    expected = inspect.getsource(Path)
    with ThreadPoolExecutor(8) as pool:
        sources = [pool.submit(source_text, Path) for _ in range(16)]
        trees = [pool.submit(parse_python, "x = [(1, {'a': 2})]\n" * 200) for _ in range(64)]
        assert {source.result() for source in sources} == {expected}
        assert {len(tree.result().body) for tree in trees} == {200}


def test_rooms_build_trees_in_turn_alone():
    """`ast.parse` of several threads fails in CPython 3.11; the linter and the probe have one thread."""
    alone = {"lint/linting.py", "probe/looking.py", "services/syntax.py"}
    folder = Path(__file__).parents[3] / "tasks"
    parsing = {str(file.relative_to(folder)) for file in folder.rglob("*.py") if "ast.parse(" in file.read_text()}
    assert parsing == alone


def test_what_is_no_python_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        parse_python("def f(:")


def test_a_warning_about_the_source_reaches_nobody():
    with warnings.catch_warnings(record=True) as told:
        for _ in range(2):
            warnings.simplefilter("always")  # in front of what an earlier call may have left
            parse_python("1if 1 else 2; '\\d'")
            ast.parse("'\\d'", "another file")
    assert [warning.filename for warning in told] == ["another file"] * 2


def test_filters_that_are_in_force_stay_as_they_are():
    with warnings.catch_warnings():
        parse_python("")
        before = list(warnings.filters)
        parse_python("")
        assert warnings.filters == before


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("finish()", True),
        ("if x:\n    finish()", True),
        ("print('finish()')", False),
        ("game.finish()", False),
        ("finish", False),
        ("finish(", False),
        ("done()", False),
    ],
)
def test_a_block_ends_an_episode_where_it_calls_finish(code, ends):
    assert calls_finish(code) == ends


@pytest.mark.parametrize(("failures", "is_read"), [(0, True), (2, True), (3, False)])
def test_a_crossed_build_is_tried_again(monkeypatch, failures, is_read):
    monkeypatch.setattr(syntax, "ATTEMPTS", 3)
    tries = []

    def getsource(value):
        tries.append(value)
        if len(tries) <= failures:
            raise SystemError("AST constructor recursion depth mismatch")
        return "source"

    monkeypatch.setattr(inspect, "getsource", getsource)
    if is_read:
        assert source_text(Path) == "source"
    else:
        with pytest.raises(SystemError):
            source_text(Path)
    assert len(tries) == min(failures + 1, 3)
