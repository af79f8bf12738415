"""Validated records of chat data sets: JSON lines and Parquet."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from carryover.tasks.running.errors import UserError


class ChatRecord(NamedTuple):
    """One conversation of a data set."""

    place: str
    """Its position, for error messages: `line 3 of FILE` or `row 3 of FILE`."""
    content: Mapping[str, Any]
    """The record, whose `messages` are objects with a `role` and, where they have one, a `content` of text or parts."""


def chat_records(path: Path) -> Iterator[ChatRecord]:
    """Yield the records of a chat data set, `.jsonl` or `.parquet`; raise `UserError` for anything else."""
    records = {".jsonl": _json_lines, ".parquet": _table_rows}.get(path.suffix)
    if records is None:
        raise UserError(f"cannot read {path} as a chat data set; it must be .jsonl or .parquet with `messages`")
    for place, record in records(path):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            found = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise UserError(
                f"{place} has no list `messages`, but {found or 'nothing'}; give one conversation per record"
            )
        for number, message in enumerate(record["messages"], start=1):
            _check_message(message, f"message {number} in {place}")
        yield ChatRecord(place, record)


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text: its parts joined, and nothing where it has none, as in a call of a tool."""
    content = message.get("content") or ""
    texts = [content] if isinstance(content, str) else content
    parts = (part if isinstance(part, str) else part.get("text") for part in texts)
    return "".join(text for text in parts if isinstance(text, str))


def parse_json(place: str, text: bytes) -> Any:
    """Return what JSON in UTF-8 holds; raise `UserError` naming the place where it is neither."""
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{place} is not UTF-8: {error.reason} at byte {error.start}; save the file as UTF-8"
        ) from error
    try:
        return json.loads(decoded)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{place} is not JSON: {error}; found {decoded.strip()[:40]!r}; give one JSON object"
        ) from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; raise `UserError` where it is not JSON in UTF-8."""
    return parse_json(str(path), path.read_bytes())


def _check_message(message: Any, place: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise UserError(f"{place} is not an object with a `role`: {message!r:.60}; give messages as OpenAI's chats do")
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if not isinstance(content, str | list | None) or not all(isinstance(part, str | dict) for part in parts):
        raise UserError(f"{place} has as `content` {content!r:.60}; give text, a list of parts, or nothing")


def _json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                place = f"line {number} of {path}"
                yield place, parse_json(place, line)


def _table_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        table = pyarrow.parquet.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} is not Parquet: {error}") from error
    number = 0
    for batch in table.iter_batches(batch_size=256):
        for record in batch.to_pylist():
            number += 1
            yield f"row {number} of {path}", record
