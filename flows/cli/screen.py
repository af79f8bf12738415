"""A console on standard output, for terminals and pipes."""

import sys

from rich.console import Console

PLAIN_WIDTH = 160
"""Columns where standard output is no terminal: enough for every table."""


def screen() -> Console:
    """Return a console as wide as the terminal, or of `PLAIN_WIDTH` columns without one."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
