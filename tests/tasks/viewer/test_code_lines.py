"""Code as lines of pieces: nothing is lost, and everything is text."""

import pytest

from carryover.tasks.viewer.code_lines import LONGEST_COLOURED, code_lines
from tests.flattening import flat

CODES = [
    "x = 1",
    "def f():\n    return 'a'  # b",
    "</script><b>",
    "x = '''a\n\nb'''\ny",
    "not python ((",
    "\n\nx",
    "é = 'שלום'",
]


@pytest.mark.parametrize("code", CODES)
def test_pieces_make_up_the_code(code):
    assert "\n".join("".join(text for _, text in line) for line in code_lines(code)) == code


def test_pieces_name_their_kind():
    assert code_lines("return 1 # x") == [[("k", "return"), ("", " "), ("m", "1"), ("", " "), ("c", "# x")]]


def test_very_long_code_is_not_coloured():
    code = "x = 1\n" * (LONGEST_COLOURED // 6 + 1)
    assert {name for name, _ in flat(code_lines(code))} == {""}
