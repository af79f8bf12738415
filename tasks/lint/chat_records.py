"""Validated records of chat data sets: JSON lines and Parquet."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pydantic import BaseModel, ValidationError

from carryover.tasks.services.errors import UserError


class _ChatMessage(BaseModel):
    role: str
    content: str | list[str | dict[str, Any]] | None = None


class _Chat(BaseModel):
    messages: list[_ChatMessage]


def chat_records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the records of a chat data set, `.jsonl` or `.parquet`, each after its place: `line 3 of FILE`.

    Their `messages` are objects with a `role` and, where they have one, a `content` of text or parts. Raise `UserError`
    for anything else.
    """
    records = {".jsonl": _json_lines, ".parquet": _table_rows}.get(path.suffix)
    if records is None:
        raise UserError(f"cannot read {path} as a chat data set; it must be .jsonl or .parquet with `messages`")
    for place, record in records(path):
        try:
            _Chat.model_validate(record)
        except ValidationError as error:
            raise refused_record(place, error) from error
        yield place, record


def refused_record(place: str, error: ValidationError) -> UserError:
    """Return what is wrong with a record, with its field and value."""
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or "record"
    return UserError(f"{place} has as `{field}` {first['input']!r:.60}: {first['msg']}; correct it or leave it out")


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text: its parts joined, and nothing where it has none, as in a call of a tool."""
    content = message.get("content") or ""
    texts = [content] if isinstance(content, str) else content
    parts = (part if isinstance(part, str) else part.get("text") for part in texts)
    return "".join(text for text in parts if isinstance(text, str))


def parse_json(place: str, text: bytes) -> Any:
    """Return what JSON in UTF-8 holds; raise `UserError` naming the place where it is neither."""
    try:
        return json.loads(text.decode("utf-8-sig"))
    except ValueError as error:
        raise UserError(f"{place} is not JSON in UTF-8: {error}; found {text.strip()[:40]!r}") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; raise `UserError` if it is not JSON in UTF-8."""
    return parse_json(str(path), path.read_bytes())


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
    records = chain.from_iterable(batch.to_pylist() for batch in table.iter_batches(batch_size=256))
    for number, record in enumerate(records, start=1):
        yield f"row {number} of {path}", record
