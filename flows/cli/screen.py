"""Console for results, as wide as the terminal or its tables.

`COLUMNS` gives a width too.
"""

import shutil

from rich.console import Console


def screen() -> Console:
    """Return a console on standard output."""
    return Console(width=shutil.get_terminal_size((160, 24)).columns, highlight=False)
