"""Jupyter notebooks, after the documented schema of nbformat 3 and 4; cells that never ran count as run in order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace

LAYOUT = "a Jupyter notebook"
JOINS_RECORDS = False


def detect(record: Any) -> bool:
    """Tell whether a record declares the notebook format and has cells."""
    return isinstance(record, Mapping) and "nbformat" in record and ("cells" in record or "worksheets" in record)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Yield a notebook as one trace; a code cell is a reply with one block."""
    for record in records:
        notebook = record.content
        cells = notebook.get("cells") or [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
        replies = [_reply(cell) for cell in cells if cell["cell_type"] == "code"]
        told = [OpeningMessage("user", _text(cell["source"])) for cell in cells[:1] if cell["cell_type"] == "markdown"]
        language = ((notebook.get("metadata") or {}).get("kernelspec") or {}).get("language") or "python"
        if str(language).lower() not in ("python", "ipython"):
            replies = [Reply(reply.text, unread=(f"a cell of {language}",)) for reply in replies]
        yield Trace(trace_id=record.name, replies=tuple(replies), opening=tuple(told))


def _reply(cell: Mapping[str, Any]) -> Reply:
    code = _text(cell.get("source") or cell.get("input") or "")
    if not code.strip():
        return Reply(code)
    outputs = cell.get("outputs") or []
    has_run = bool(outputs) or cell.get("execution_count") is not None
    printed = [_printed(output) for output in outputs]
    failed = [output for output in outputs if output.get("output_type") in ("error", "pyerr")]
    error = "".join(f"{output.get('ename')}: {output.get('evalue')}" for output in failed[:1]) or None
    text = "".join(printed) if has_run else None
    return Reply(code, (Block(code, output=text, error=error),), observation=text or "")


def _printed(output: Mapping[str, Any]) -> str:
    held = output.get("text")
    if held is None:
        held = (output.get("data") or {}).get("text/plain") or output.get("traceback") or ""
    return _text(held)


def _text(lines: Any) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
