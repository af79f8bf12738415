"""Console for results: as wide as the terminal or `COLUMNS`, or wide enough for every table without either."""

import shutil

from rich.console import Console

PLAIN_WIDTH = 160
"""Columns where standard output is no terminal: enough for every table."""


def screen() -> Console:
    """Return a console on standard output."""
    return Console(width=shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, highlight=False)
