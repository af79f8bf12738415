"""Text in SQL statements."""


def quoted(text: str) -> str:
    """Return text as an SQL literal, for statements without parameters."""
    return "'" + text.replace("'", "''") + "'"
