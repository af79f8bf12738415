"""Jupyter notebooks (nbformat 4); all cells count as run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace

LAYOUT = "a Jupyter notebook"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record declares the notebook format and has cells."""
    return isinstance(record, Mapping) and "nbformat" in record and "cells" in record


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a notebook as one trace, a block per cell."""
    for record in records:
        cells = record.content["cells"]
        language = _language(record.content)
        is_python = language in ("python", "ipython")
        sources = [cell for cell in cells if cell["cell_type"] == "code"]
        replies = [_reply(cell) if is_python else Reply("", unread=(f"a cell of {language}",)) for cell in sources]
        opening = [OpeningMessage("user", _text(top["source"])) for top in cells[:1] if top["cell_type"] == "markdown"]
        yield Trace(trace_id=record.name, replies=tuple(replies), opening=tuple(opening))


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata") or {}
    kernel = metadata.get("kernelspec") or {}
    info = metadata.get("language_info") or {}
    named = kernel.get("language") or info.get("name")
    return str(named or "python").lower()


def _reply(cell: Mapping[str, Any]) -> Reply:
    code = _text(cell.get("source", ""))
    outputs = cell.get("outputs") or []
    if not code.strip():
        return Reply(code)
    if not outputs and cell.get("execution_count") is None:
        return Reply(code, (Block(code),))
    text = "".join(map(_printed, outputs))
    return Reply(code, (Block(code, output=text, error=_error(outputs)),), observation=text)


def _error(outputs: list[Mapping[str, Any]]) -> str | None:
    failed = (output for output in outputs if output.get("output_type") == "error")
    return next((f"{output.get('ename')}: {output.get('evalue')}" for output in failed), None)


def _printed(output: Mapping[str, Any]) -> str:
    data = output.get("data") or {}
    return _text(output.get("text") or data.get("text/plain") or output.get("traceback") or "")


def _text(lines: Any) -> str:
    return "".join(lines)
