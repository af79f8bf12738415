"""Findings as tables: chosen columns for readers, all as CSV."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any, Literal

from carryover.tasks.lint.formats import TableLayout

_SHOWN = ("trace_id", "verdict", "block_count", "error_count", "declared_contract", "contradiction", "failing_steps")
"""Columns of an episode that a person reads."""


def episode_table(rows: Sequence[dict[str, Any]], layout: TableLayout, width: int) -> str:
    """Return a row per episode."""
    if layout == "csv":
        return _csv(rows)
    columns = [name for name in _SHOWN if any(row[name] not in (None, "") for row in rows)]
    return _laid_out(columns, [[_text(row[name]) for name in columns] for row in rows], layout, width)


def contract_table(rows: Sequence[dict[str, Any]], layout: TableLayout, width: int) -> str:
    """Return a row per declared contract, or a column for readers."""
    if layout == "csv":
        return _csv(rows)
    names = [name for name in rows[0] if name != "declared_contract"]
    heads = ["declared contract", *(row["declared_contract"] or "none" for row in rows)]
    body = [[name.replace("_", " "), *(_text(row[name]) for row in rows)] for name in names]
    return _laid_out(heads, body, layout, width)


def _laid_out(
    columns: Sequence[str], body: Sequence[Sequence[str]], layout: Literal["rich", "markdown"], width: int
) -> str:
    heads = [column.replace("_", " ") for column in columns]
    if layout == "markdown":
        lines = [heads, ["---"] * len(heads), *body]
        return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines) + "\n"
    return _on_screen(heads, body, width)


def _on_screen(heads: Sequence[str], body: Sequence[Sequence[str]], width: int) -> str:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=SIMPLE, title="contract lint", title_justify="left")
    for line in body:
        table.add_row(*map(Text, line))
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    written = StringIO()
    table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    return written.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
