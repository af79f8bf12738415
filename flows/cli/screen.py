"""Where results are printed: as wide as the terminal, or wide enough for every table where there is none."""

import sys

from rich.console import Console

PLAIN_WIDTH = 160


def screen() -> Console:
    """Return a console on standard output."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
