"""Code as lines of pieces: nothing is lost, and everything is text."""

import pytest

from carryover.tasks.viewer.code_lines import LONGEST_COLOURED, code_lines

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


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("return 1 # x", [[("k", "return"), ("", " "), ("m", "1"), ("", " "), ("c", "# x")]]),
        ("a in b", [[("", "a "), ("k", "in"), ("", " b")]]),
        ("def f():\n  len", [[("k", "def"), ("", " "), ("f", "f"), ("", "():")], [("", "  "), ("b", "len")]]),
        ("class C(KeyError)", [[("k", "class"), ("", " "), ("f", "C"), ("", "("), ("b", "KeyError"), ("", ")")]]),
        ('"""a\n\nb"""', [[("s", '"""a')], [], [("s", 'b"""')]]),
        ("x\n\n", [[("", "x")]]),
        ("\n\nx", [[], [], [("", "x")]]),
        ("", []),
    ],
)
def test_pieces_name_their_kind(code, lines):
    assert code_lines(code) == lines


@pytest.mark.parametrize(("length", "is_coloured"), [(LONGEST_COLOURED, True), (LONGEST_COLOURED + 1, False)])
def test_very_long_code_is_not_coloured(length, is_coloured):
    text = f"'{'x' * (length - 11)}'"
    first = [("k", "return"), ("", " "), ("s", text)] if is_coloured else [("", f"return {text}")]
    assert code_lines(f"return {text}\ny") == [first, [("", "y")]]
