"""The built front end."""

from importlib.resources import files


def built_file(name: str) -> str:
    """Return the text of a built file."""
    return (files("carryover.tasks.viewer") / "built" / name).read_text(encoding="utf-8")
