"""Records of JSON, JSON lines, documents after one another, and plain text."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.tally import Tally

_UNREADABLE = (ValueError, RecursionError)
"""What a text raises that is no JSON; absurd nesting is none either."""
_BEFORE_JSON = b"\xef\xbb\xbf \t"
"""Byte order mark and blanks before a line's value."""
_LOOKED_AT = 20
"""Lines of which one tells JSON lines, where the first is broken."""


def text_records(stream: IO[bytes], file: Any, tally: Tally, *, is_named: bool) -> Iterator[Record]:
    """Yield the records of a text file; count what is no JSON."""
    stem = Path(file.name).stem
    head: list[bytes] = []
    while not head or not head[-1].strip():
        line = stream.readline()
        if not line:
            tally.skip("empty file", str(file))
            return
        head.append(line)
    first = head[-1]
    head.append(stream.readline())
    if _is_one_json_value(first) and head[-1].strip():
        yield from _json_lines(chain(head, stream), file, stem, tally)
        return
    text = b"".join((*head, stream.read()))
    try:
        content = json.loads(text.decode("utf-8-sig"), strict=False)
    except UnicodeDecodeError:
        tally.skip("neither JSON nor text in UTF-8", str(file))
    except _UNREADABLE:
        lines = text.splitlines(keepends=True)
        is_of_lines = first.lstrip(_BEFORE_JSON).startswith(b"{")
        if is_of_lines and any(map(_is_line_of_json, lines[1:_LOOKED_AT])):
            yield from _json_lines(iter(lines), file, stem, tally)
        else:
            yield from _plain_text(text.decode("utf-8-sig"), file, tally, is_named=is_named)
    else:
        yield from _spread(content, file, stem)


def _json_lines(lines: Iterator[bytes], file: Any, stem: str, tally: Tally) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if isinstance(file, Path):
            tally.pass_bytes(len(line))
        if not line.strip():
            continue
        place = f"line {number} of {file}"
        try:
            content = json.loads(line.decode("utf-8-sig"), strict=False)
        except _UNREADABLE as error:
            tally.skip("a line that is not JSON in UTF-8", f"{place}: {error}")
            continue
        yield Record(content, place, f"{stem}-{number}", file)


def _spread(content: Any, file: Any, stem: str) -> Iterator[Record]:
    """Yield a document, or the elements of a list of them."""
    if not isinstance(content, list):
        yield Record(content, str(file), stem, file)
        return
    for number, element in enumerate(content, start=1):
        yield Record(element, f"element {number} of {file}", f"{stem}-{number}", file)


def _plain_text(text: str, file: Any, tally: Tally, *, is_named: bool) -> Iterator[Record]:
    looks_like_json = text.lstrip()[:1] in ("{", "[")
    if looks_like_json:
        yield from _json_documents(text, file, tally)
    elif is_named:
        yield Record(text, str(file), Path(file.name).stem, file)
    else:
        tally.skip("plain text beside traces; name it itself to read it as a transcript", str(file))


def _json_documents(text: str, file: Any, tally: Tally) -> Iterator[Record]:
    """Yield JSON documents that follow one another, as consoles print spans."""
    decoder = json.JSONDecoder(strict=False)
    number = 0
    at = _next_sign(text, 0)
    while at < len(text):
        number += 1
        place = f"document {number} of {file}"
        try:
            content, end = decoder.raw_decode(text, at)
        except _UNREADABLE as error:
            tally.skip("not JSON in UTF-8", f"{place}: {error}")
            return
        yield Record(content, place, f"{Path(file.name).stem}-{number}", file)
        at = _next_sign(text, end)


def _next_sign(text: str, at: int) -> int:
    """Return the position of the next character that is no space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _is_one_json_value(line: bytes) -> bool:
    if not line.lstrip(_BEFORE_JSON).startswith((b"{", b"[")):
        return False
    try:
        json.loads(line.decode("utf-8-sig"), strict=False)
    except _UNREADABLE:
        return False
    return True


def _is_line_of_json(line: bytes) -> bool:
    """Tell whether a line is an object of its own, not a part of one that spans lines."""
    return line.startswith(b"{") and _is_one_json_value(line)
