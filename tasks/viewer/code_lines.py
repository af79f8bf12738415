"""Code as lines of coloured pieces, never as markup."""

from pygments.lexers.python import PythonLexer

LONGEST_COLOURED = 100_000
"""Characters up to which code is coloured: a lexer reads a megabyte in seconds."""
_CLASSES = (
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"),
    ("Token.Comment", "c"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Exception", "b"),
)

_LEXER = PythonLexer(stripnl=False, ensurenl=False)
"""Made once, before threads ask: Pygments prepares its rules at the first use, without a lock."""

Piece = tuple[str, str]
"""A class of the style sheet, empty for none, and the text."""


def code_lines(code: str) -> list[list[Piece]]:
    """Return a block's lines, each as pieces in their order."""
    if len(code) > LONGEST_COLOURED:
        return [[("", line)] for line in code.split("\n")]
    lines: list[list[Piece]] = [[]]
    for kind, text in _LEXER.get_tokens(code):
        name = _class_of(str(kind))
        first, *others = text.split("\n")
        _append(lines[-1], name, first)
        for part in others:
            lines.append([])
            _append(lines[-1], name, part)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _append(line: list[Piece], name: str, text: str) -> None:
    if not text:
        return
    if line and line[-1][0] == name:
        line[-1] = (name, line[-1][1] + text)
        return
    line.append((name, text))


def _class_of(kind: str) -> str:
    for start, name in _CLASSES:
        if kind.startswith(start):
            return name
    return ""
