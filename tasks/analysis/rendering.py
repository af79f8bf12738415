"""A table's frame as text: for a terminal (Rich), Markdown, LaTeX or CSV."""

import json
import re
import textwrap
from collections.abc import Sequence
from io import StringIO
from typing import Literal, NamedTuple

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from carryover.tasks.analysis.formatting import WORD_COLUMNS, format_row, format_value, heading

TableFormat = Literal["rich", "markdown", "latex", "csv"]

Layout = Literal["study", "plain"]
"""How rows stand: laid out as a table of the study, or as they are."""

SECTION_COLUMNS = (
    "variant",
    "base",
    "visibility",
    "header",
    "bucket",
    "text_format",
    "retention",
    "matching",
    "measured_on",
)
"""Columns that head a section instead of repeating on every row."""

LABEL_COLUMNS = (("condition",), ("train_a", "runtime_a", "train_b", "runtime_b"))
"""Columns that name a cell or a comparison; tables that have them stand with one column per cell."""

NO_ROWS = "no rows for this plan"
"""What stands below the title of an empty table."""

CELL_PREFIX = "cell_"
"""Begins the name of a column that repeats a number of the whole cell on each of the cell's rows."""

TERMINAL_WIDTH = 160
COLUMN_GAP = 3
"""Characters between the columns of a terminal's table."""

_DIGEST = re.compile("[0-9a-f]{16}")
"""A digest stands where words do, whichever character it begins with."""

WRAPPED_FROM = 28
"""Characters of a cell from which a column of words is wrapped on a page."""


class Sheet(NamedTuple):
    """A part of a table as text: one group of cells."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def number_columns(self) -> list[bool]:
        """Tell of each column whether it holds numbers, which stand to the right; words stand to the left."""
        return [style == "" for style in self.styles()]

    def styles(self) -> list[str]:
        """Return how a page sets each column: `words`, `long words` where they want room to wrap, or nothing."""
        return [_style(cells) for cells in self._columns()]

    def _columns(self) -> list[tuple[str, ...]]:
        """Return the cells by column, also of a sheet without rows."""
        return [tuple(row[position] for row in self.rows) for position in range(len(self.header))]


def render_table(
    name: str, frame: pl.DataFrame, table_format: TableFormat, *, title: str = "", layout: Layout = "study"
) -> str:
    """Return a table as text; CSV keeps every column and all digits, lists as JSON; the others are laid out to be read.

    In the `study` layout there is one sheet per group (variant, base, ..., bucket), columns without any value are left
    out, published columns are headed with model and split, ours stand under the scale that they were measured at. The
    `plain` layout keeps rows, columns and words as they are, so that they can be asked for again.
    """
    if table_format == "csv":
        return _without_nesting(frame).write_csv()
    parts = sheets(frame) if layout == "study" else [plain_sheet(frame)]
    match table_format:
        case "markdown":
            return "\n\n".join([f"### {title or name}", *(map(_markdown, parts) if parts else [NO_ROWS])]) + "\n"
        case "latex":
            tables = [_latex(name, title or name, sheet) for sheet in parts]
            return "\n\n".join(tables or [f"% {title or name}: {NO_ROWS}"]) + "\n"
        case "rich":
            console = Console(file=StringIO(), width=TERMINAL_WIDTH)
            with console.capture() as capture:
                console.print(_rich_sheets(title or name, parts))
            return capture.get()


def rich_table(name: str, frame: pl.DataFrame, *, title: str = "") -> Group:
    """Return a table in the `study` layout for `rich.print`; an empty one says that it is empty."""
    return _rich_sheets(title or name, sheets(frame))


def plain_sheet(frame: pl.DataFrame) -> Sheet:
    """Return any frame as one sheet, columns and words under their own names."""
    rows = (
        tuple(value if isinstance(value, str) else format_value(column, value) for column, value in row.items())
        for row in frame.iter_rows(named=True)
    )
    return Sheet("", tuple(frame.columns), tuple(rows))


def _without_nesting(frame: pl.DataFrame) -> pl.DataFrame:
    nested = (column for column in frame.iter_columns() if column.dtype.is_nested())
    return frame.with_columns(
        pl.Series(
            column.name,
            [
                None if value is None else json.dumps(value, default=str, ensure_ascii=False)
                for value in column.to_list()
            ],
            pl.String,
        )
        for column in nested
    )


def sheets(frame: pl.DataFrame) -> list[Sheet]:
    """Return a table's groups as sheets of text, in the order of their rows."""
    section_columns = [column for column in SECTION_COLUMNS if column in frame.columns]
    if not section_columns:
        return [] if frame.is_empty() else [_sheet({}, frame)]
    groups = frame.partition_by(section_columns, maintain_order=True, include_key=True)
    return [_sheet(group.select(section_columns).row(0, named=True), group.drop(section_columns)) for group in groups]


def _sheet(section: dict[str, object], frame: pl.DataFrame) -> Sheet:
    kept = _without_lone_split(
        frame.select(column for column in frame.columns if frame[column].null_count() < frame.height)
    )
    caption = ", ".join(
        f"{heading(key)} {value}" for key, value in section.items() if value is not None and key != "measured_on"
    )
    measured_on = str(section.get("measured_on") or "")
    for label_columns in LABEL_COLUMNS:
        if all(column in frame.columns for column in label_columns):
            labelled = _labelled(kept, label_columns)
            names = [column for column in labelled.columns if column in WORD_COLUMNS]
            if labelled["label"].is_unique().all():
                return _one_column_per_cell(caption, measured_on, labelled)
            if labelled.select("label", *names).is_unique().all():
                return _rows_per_cell(caption, measured_on, names, labelled)
    return Sheet(
        caption=", ".join(part for part in (measured_on, caption) if part),
        header=tuple(map(heading, kept.columns)),
        rows=tuple(map(format_row, kept.iter_rows(named=True))),
    )


def _without_lone_split(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without the split of published columns where it has no other published column."""
    published = [column for column in frame.columns if column.startswith("qwen3_8b_")]
    return frame.drop(published) if published == ["qwen3_8b_split"] else frame


def _labelled(frame: pl.DataFrame, label_columns: tuple[str, ...]) -> pl.DataFrame:
    named = [column for column in label_columns if column in frame.columns]
    labels = [_label(row) for row in frame.select(named).rows()]
    return frame.drop(named).with_columns(pl.Series("label", labels, pl.String))


def _one_column_per_cell(caption: str, measured_on: str, labelled: pl.DataFrame) -> Sheet:
    split = _published_split(labelled)
    rows = tuple(
        (heading(column, split=split), *(format_value(column, value) for value in labelled[column]))
        for column in labelled.columns
        if column not in ("label", "qwen3_8b_split")
    )
    return Sheet(caption, (measured_on, *labelled["label"]), rows)


def _rows_per_cell(caption: str, measured_on: str, names: list[str], labelled: pl.DataFrame) -> Sheet:
    """Return the sheet of a table with several rows per cell: a block of rows per value, its rows told by `names`.

    A number of the cell as a whole, such as what its rows are shares of, is a single row.
    """
    split = _published_split(labelled)
    columns = [column for column in labelled.columns if column not in (*names, "label", "model", "qwen3_8b_split")]
    labels = labelled["label"].unique(maintain_order=True).to_list()
    rows: list[tuple[str, ...]] = []
    for measured in columns:
        block = labelled.pivot("label", index=names, values=measured, maintain_order=True)
        if measured.startswith(CELL_PREFIX):
            block = block.select(*(pl.lit("").alias(name) for name in names), pl.col(labels).max())
        for position, row in enumerate(block.iter_rows(named=True)):
            words = [format_value(name, row[name]) for name in names]
            cells = [format_value(measured, row[label]) for label in labels]
            rows.append((heading(measured, split=split) if position == 0 else "", *words, *cells))
    return Sheet(caption, (measured_on, *map(heading, names), *labels), tuple(rows))


def _published_split(frame: pl.DataFrame) -> str | None:
    splits = frame["qwen3_8b_split"].drop_nulls().to_list() if "qwen3_8b_split" in frame.columns else []
    return next(iter(splits), None)


def _label(names: tuple[str | None, ...]) -> str:
    if len(names) == 1:
        return str(names[0]).replace("->", "→")
    short = [{"persistent": "P", "stateless": "S"}.get(name or "", name or "base") for name in names]
    return f"{short[0]}→{short[1]} : {short[2]}→{short[3]}"


def _rich_sheets(title: str, parts: list[Sheet]) -> Group:
    shown: list[Text | Table] = [Text(title, style="bold")]
    for sheet in parts:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column, is_number in zip(sheet.header, sheet.number_columns(), strict=True):
            justify = "right" if is_number else "left"
            table.add_column(_heading_lines(column, len(sheet.header)), justify=justify, overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(cell) for cell in row))
        shown.extend([Text(sheet.caption, style="italic"), table] if sheet.caption else [table])
    if not parts:
        shown.append(Text(NO_ROWS, style="italic"))
    return Group(*shown)


def _heading_lines(heading: str, column_count: int) -> Text:
    """Return a heading in lines that leave room for the other columns; where it may break, it breaks between words."""
    longest = max(map(len, heading.split()), default=1)
    width = max(longest, TERMINAL_WIDTH // column_count - COLUMN_GAP)
    return Text("\n".join(textwrap.wrap(heading, width)))


def _style(cells: Sequence[str]) -> str:
    if any(len(cell) > WRAPPED_FROM for cell in cells):
        return "long words"
    return "" if _are_mostly_numbers(cells) else "words"


def _are_mostly_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return sum(cell[0] in "-<0123456789" and _DIGEST.fullmatch(cell) is None for cell in filled) * 2 > len(filled)


def _markdown(sheet: Sheet) -> str:
    lines = [
        _markdown_row(sheet.header),
        _markdown_row(["---:" if is_number else "---" for is_number in sheet.number_columns()]),
        *map(_markdown_row, sheet.rows),
    ]
    return "\n".join([f"{sheet.caption}\n" if sheet.caption else "", *lines]).lstrip("\n")


def _markdown_row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(name: str, title: str, sheet: Sheet) -> str:
    columns = "".join("r" if is_number else "l" for is_number in sheet.number_columns())
    body = [" & ".join(_latex_text(cell) for cell in row) + r" \\" for row in sheet.rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_latex_text('; '.join(part for part in (title, sheet.caption) if part))}}}",
            rf"\label{{tab:{name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            " & ".join(_latex_text(cell) for cell in sheet.header) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_text(text: str) -> str:
    escapes = {
        "\\": r"\textbackslash{}",
        "→": r"$\to$",
        "±": r"$\pm$",
        "<": r"$<$",
        ">": r"$>$",
        "~": r"\textasciitilde{}",
    }
    escapes |= {character: f"\\{character}" for character in "&%$#_{}"} | {"^": r"\textasciicircum{}"}
    return "".join(escapes.get(character, character) for character in text)
