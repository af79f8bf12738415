import ast
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from carryover.tasks.services.syntax import parse_python


def test_many_threads_may_parse_at_once():
    source = "\n".join(f"value_{number} = [{number} + 1, ({number}, {{'a': {number}}})]" for number in range(100))
    expected = ast.dump(ast.parse(source))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parse_python, [source] * 64))
    assert {ast.dump(tree) for tree in trees} == {expected}


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
