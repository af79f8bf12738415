"""Console for results, as wide as the terminal or its tables.

`COLUMNS` gives a width too.
"""

import re
import shutil

from rich.console import Console
from rich.text import Text

_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that drive a terminal, or hide and reorder text."""


def screen() -> Console:
    """Return a console on standard output."""
    return Console(width=shutil.get_terminal_size((160, 24)).columns, highlight=False)


def plain(text: str, style: str = "") -> Text:
    """Return a trace's text as rich prints it, without markup or control."""
    return Text(visible(text), style=style)


def visible(text: str) -> str:
    """Return a text with control characters as signs.

    An escape becomes `␛`, a right-to-left override `⟨U+202E⟩`.
    """
    return _HIDDEN.sub(_sign, text.replace("\r\n", "\n"))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟨U+{code:04X}⟩"
