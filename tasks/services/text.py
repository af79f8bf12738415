"""Text in UTF-8: as files of users hold it, and as every file, database and request takes it."""

from pathlib import Path

from carryover.tasks.services.errors import UserError


def read_text_file(path: Path) -> str:
    """Return the text of a user's file.

    Raises:
        UserError: It is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise UserError(f"{path} is not UTF-8 text: {found}; save it as UTF-8") from error


def encodable(text: str) -> str:
    """Return text with lone surrogates replaced by question marks.

    UTF-8 cannot hold them.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()
