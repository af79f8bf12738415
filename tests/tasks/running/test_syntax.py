import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks.running.syntax import parse_python


def test_many_threads_may_parse_at_once():
    source = "\n".join(f"value_{number} = [{number} + 1, ({number}, {{'a': {number}}})]" for number in range(100))
    expected = ast.dump(ast.parse(source))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse_python, [source] * 64))
    assert {ast.dump(tree) for tree in trees} == {expected}


def test_what_is_no_python_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        parse_python("def f(:")
