"""Text in SQL statements."""


def quoted(text: str) -> str:
    """Return text as an SQL literal, for the statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
