"""Text that every file, database and request takes."""


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, replaced by question marks."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()
