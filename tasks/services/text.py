"""Text that every file, database and request takes."""


def encodable(text: str) -> str:
    """Return text with lone surrogates replaced by question marks.

    UTF-8 cannot hold them.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()
