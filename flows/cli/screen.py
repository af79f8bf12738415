"""A console on standard output, for terminals and pipes."""

import sys

from rich.console import Console

PLAIN_WIDTH = 160
"""Columns where standard output is no terminal: enough for every table."""


def screen(plain_width: int = PLAIN_WIDTH) -> Console:
    """Return a console as wide as the terminal, or of `plain_width` columns without one."""
    return Console(width=None if sys.stdout.isatty() else plain_width, highlight=False)
