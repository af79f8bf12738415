"""A data set's findings as files: rows, and an HTML page."""

import csv
import html
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from carryover.tasks.lint.lint import Take, TraceLint
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import written_whole

PAGE_ROWS = 500
"""Episodes that a page lists, the failing ones first."""
_BATCH_ROWS = 1_000
_SUFFIXES = (".csv", ".jsonl", ".json", ".parquet", ".html")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;"
    "text-align:left;vertical-align:top}h1{font-size:1.4rem}.bar{background:#4878a8;height:.8rem;display:inline-block}"
)


class RowWriter(Protocol):
    """Takes the findings one by one."""

    def __call__(self, lint: TraceLint) -> None:
        """Write one row."""
        ...


@contextmanager
def open_rows(path: Path) -> Iterator[RowWriter]:
    """Open a file of rows by its suffix, for streaming.

    `.csv`, `.jsonl`, `.json` or `.parquet`. A file that is there stays until all rows are written.
    """
    opened = {".csv": _csv_rows, ".jsonl": _json_rows, ".json": _json_rows, ".parquet": _parquet_rows}.get(path.suffix)
    if opened is None:
        raise UserError(f"unknown suffix of {path}; choose from {', '.join(_SUFFIXES)}")
    with written_whole(path) as unfinished, opened(unfinished) as write:
        yield write


@contextmanager
def _csv_rows(path: Path) -> Iterator[RowWriter]:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, TraceLint._fields)
        table.writeheader()
        yield lambda lint: table.writerow(flat_row(lint))


@contextmanager
def _json_rows(path: Path) -> Iterator[RowWriter]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda lint: print(json.dumps(_row(lint)), file=file)


@contextmanager
def _parquet_rows(path: Path) -> Iterator[RowWriter]:
    import pyarrow as pa
    import pyarrow.parquet

    kinds: dict[Any, Any] = {int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    texts = pa.list_(pa.string())
    kinds |= {tuple[str, ...]: texts, tuple[Take, ...]: texts, int | None: pa.int64(), float | None: pa.float64()}
    schema = pa.schema([(name, kinds.get(kind, pa.string())) for name, kind in TraceLint.__annotations__.items()])
    held: list[dict[str, Any]] = []
    with pyarrow.parquet.ParquetWriter(path, schema) as file:

        def flush() -> None:
            file.write_table(pa.Table.from_pylist(held, schema=schema))
            held.clear()

        def write(lint: TraceLint) -> None:
            held.append(_row(lint))
            if len(held) >= _BATCH_ROWS:
                flush()

        yield write
        flush()


def flat_row(lint: TraceLint) -> dict[str, Any]:
    """Return findings as a row whose lists are joined by commas."""
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in _row(lint).items()}


def _row(lint: TraceLint) -> dict[str, Any]:
    return lint._asdict() | {"takes": tuple(map(str, lint.takes))}


class PageRows:
    """Episodes on a page: failing ones first, up to `PAGE_ROWS` each."""

    def __init__(self) -> None:
        self._failing: list[TraceLint] = []
        self._others: list[TraceLint] = []

    def add(self, lint: TraceLint) -> None:
        """Keep an episode if there is room."""
        is_other = lint.is_stateless_safe or lint.idiom in ("no_code", "unjudged")
        kept = self._others if is_other else self._failing
        if len(kept) < PAGE_ROWS:
            kept.append(lint)

    def rows(self) -> list[TraceLint]:
        """Return the episodes to list."""
        return [*self._failing, *self._others][:PAGE_ROWS]


def html_page(title: str, summary: LintSummary, listed: Iterable[TraceLint], unread: Iterable[str]) -> str:
    """Return a page of verdict, failures, restated code, and episodes."""
    traces = max(summary.trace_count, 1)
    saved = summary.restated_token_count / max(summary.token_count, 1)
    parts = [
        f"<h1>{_text(title)}</h1><p><strong>{_text(summary.sentence())}.</strong></p>",
        f"<p>{summary.failing_count / traces:.1%} of the episodes would fail in a {summary.losses.runtime} runtime. "
        f"A persistent runtime saves what restates earlier blocks: {summary.restated_token_count:,} of "
        f"{summary.token_count:,} tokens ({saved:.1%}), counted in words and signs.</p>",
        _bars("First block that fails", [(str(block), n) for block, n in sorted(summary.first_blocks().items())[:20]]),
        _bars("First thing that is missed", summary.first_names().most_common(20)),
        _bars("State that is carried", summary.channels.most_common()),
        _bars("Runtime that the outcomes show", summary.runtimes.most_common()),
        _table("Episodes", ("episode", "verdict", "blocks", "errors"), map(_episode, listed)),
        _table("Not read", ("reason",), ((reason,) for reason in unread)),
    ]
    body = "".join(parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _episode(lint: TraceLint) -> tuple[str, str, int, int]:
    return lint.trace_id, lint.verdict, lint.block_count, lint.error_count


def _bars(title: str, counts: list[tuple[str, int]]) -> str:
    if not counts:
        return ""
    most = max(count for _, count in counts)
    rows = "".join(
        f'<tr><td>{_text(name)}</td><td>{count:,}</td><td><span class="bar" style="width:{20 * count / most:.1f}rem">'
        "</span></td></tr>"
        for name, count in counts
    )
    return f"<h2>{_text(title)}</h2><table>{rows}</table>"


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    body = ""
    for row in rows:
        cells = "".join(f"<td>{_text(value)}</td>" for value in row)
        body += f"<tr>{cells}</tr>"
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    if body:
        return f"<h2>{_text(title)}</h2><table><tr>{head}</tr>{body}</table>"
    return ""


def _text(value: Any) -> str:
    return html.escape(str(value))
