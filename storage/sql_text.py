"""Text in SQL statements."""

import glob


def quoted(text: str) -> str:
    """Return text as an SQL literal, for statements without parameters."""
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: str) -> str:
    """Return a file's path as an SQL literal, its wildcards escaped.

    DuckDB takes every path of a file to read for a pattern.
    """
    return quoted(glob.escape(path))
