"""A table's frame as text: Rich, Markdown, LaTeX or CSV."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from io import StringIO
from itertools import pairwise
from typing import Literal, NamedTuple

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from carryover.tasks.analysis.formatting import WORD_COLUMNS, describe_setting, format_row, format_value, heading
from carryover.tasks.traces.vocabulary import LETTERS, TableFormat

SECTION_COLUMNS = (
    "variant", "base", "visibility", "header", "bucket", "text_format", "retention", "matching", "measured_on",
    "suite", "instruction", "model_name", "played_by", "tokens_counted_by",
)  # fmt: skip
"""Columns that head a section instead of repeating on every row."""

LABEL_COLUMNS = (("condition",), ("train_a", "runtime_a", "train_b", "runtime_b"))
"""Columns that name a cell or a comparison; tables that have them are laid out with one column per cell."""

NO_ROWS = "no rows for this plan"
"""Text below the title of an empty table."""

COLUMN_GAP = 3
"""Characters between the columns of a terminal's table."""

_DIGEST = re.compile("[0-9a-f]{16}")
"""A digest is aligned as words are, whichever character it begins with."""

WRAPPED_FROM = 28
"""Characters of a cell from which a column of words is wrapped on a page."""


class Sheet(NamedTuple):
    """A part of a table as text: one group of cells."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def number_columns(self) -> list[bool]:
        """Tell of each column whether it holds numbers."""
        return [style == "" for style in self.styles()]

    def styles(self) -> list[str]:
        """Return each column's style: `words`, `long words` or nothing."""
        styles = []
        for _, *cells in zip(self.header, *self.rows, strict=True):
            filled = [cell for cell in cells if cell]
            numbers = sum(cell[0] in "-<0123456789" and _DIGEST.fullmatch(cell) is None for cell in filled)
            is_long = any(len(cell) > WRAPPED_FROM for cell in cells)
            if is_long:
                styles.append("long words")
            elif numbers * 2 > len(filled):
                styles.append("")
            else:
                styles.append("words")
        return styles

    def fitted(self, width: int) -> Iterator[tuple["Sheet", list[int]]]:
        """Yield the sheet in parts no wider than `width`.

        Every part begins with the first column, at most a third of the width where the table does not fit, and with the
        words after it that tell rows apart, as far as they leave a third. Headings and words wrap between words.
        """
        widths = self._wanted_widths(width)
        keys = self._key_count(widths, width)
        room = width - sum(widths[:keys]) - COLUMN_GAP * (keys + 1)
        widths = [*widths[:keys], *(min(own, room) for own in widths[keys:])]
        for start, end in pairwise([*_part_starts(widths, keys, room), len(widths)]):
            kept = [*range(keys), *range(start, end)]
            yield self._columns(kept), [widths[column] for column in kept]

    def _wanted_widths(self, width: int) -> list[int]:
        """Return the columns' widths; too wide ones wrap between words."""
        columns = list(zip(self.header, *self.rows, strict=True))
        least = [max(_longest_word(cell) for cell in cells) for cells in columns]
        whole = [max(map(len, cells[1:]), default=0) for cells in columns]
        widths = [max(low, high) for low, high in zip(least, whole, strict=True)]
        if sum(widths) + COLUMN_GAP * len(widths) <= width:
            return widths
        wrapped = [max(low, min(own, WRAPPED_FROM)) for low, own in zip(least, widths, strict=True)]
        wrapped[0] = max(least[0], min(wrapped[0], width // 3))
        return wrapped

    def _key_count(self, widths: Sequence[int], width: int) -> int:
        """Return how many key columns every part repeats."""
        styles = self.styles()
        for count in range(1, len(widths) - 1):
            is_enough = len({row[:count] for row in self.rows}) == len(self.rows)
            taken = sum(widths[: count + 1]) + COLUMN_GAP * (count + 1)
            if is_enough or not styles[count] or taken > 2 * width // 3:
                return count
        return max(1, len(widths) - 1)

    def _columns(self, kept: Sequence[int]) -> "Sheet":
        header = tuple(self.header[column] for column in kept)
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        return Sheet(self.caption, header, rows)


def _longest_word(cell: str) -> int:
    return max(map(len, cell.split()), default=0)


def _part_starts(widths: Sequence[int], keys: int, room: int) -> list[int]:
    """Return each part's first column beside the key columns."""
    starts = [keys]
    used = 0
    for column, own in enumerate(widths[keys:], start=keys):
        if used + own > room:
            starts.append(column)
            used = 0
        used += own + COLUMN_GAP
    return list(dict.fromkeys(starts))


class TerminalTable(NamedTuple):
    """A table for `rich.print`, no wider than the terminal."""

    title: str
    sheets: Sequence[Sheet]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title and every sheet in parts that fit."""
        yield Text(self.title, style="bold")
        if not self.sheets:
            yield Text(NO_ROWS, style="italic")
        for sheet in self.sheets:
            if sheet.caption:
                yield Text(sheet.caption, style="italic")
            numbers = dict(zip(sheet.header, sheet.number_columns(), strict=True))
            for part, widths in sheet.fitted(options.max_width):
                table = Table(box=SIMPLE_HEAD, pad_edge=False)
                for column, width in zip(part.header, widths, strict=True):
                    justify = "right" if numbers[column] else "left"
                    table.add_column(Text(column), justify=justify, overflow="fold", width=width)
                for row in part.rows:
                    table.add_row(*map(Text, row))
                yield table


def render_table(
    name: str,
    frame: pl.DataFrame,
    table_format: TableFormat,
    *,
    title: str = "",
    layout: Literal["study", "plain"] = "study",
    width: int = 160,
) -> str:
    """Return a table as text: CSV complete, other formats laid out.

    In the `study` layout there is one sheet per group (variant, base, ..., bucket), columns without any value are left
    out, published columns are headed with model and split, ours stand under the scale that they were measured at. The
    `plain` layout keeps rows, columns and words as they are, so that they can be asked for again. `width` is a
    terminal's.
    """
    if table_format == "csv":
        return _csv(frame)
    parts = sheets(frame, name) if layout == "study" else [plain_sheet(frame)]
    title = title or name
    match table_format:
        case "rich":
            return _terminal_text(TerminalTable(title, parts), width)
        case "markdown":
            bodies = list(map(_markdown, parts)) or [NO_ROWS]
            return "\n\n".join([f"### {title}", *bodies]) + "\n"
        case _:
            bodies = [_latex(name, title, sheet) for sheet in parts]
            return "\n\n".join(bodies or [f"% {title}: {NO_ROWS}"]) + "\n"


def _csv(frame: pl.DataFrame) -> str:
    dump = partial(json.dumps, default=str, ensure_ascii=False)
    texts = []
    for column in frame.iter_columns():
        if column.dtype.is_nested():
            values = [value if value is None else dump(value) for value in column.to_list()]
            texts.append(pl.Series(column.name, values, pl.String))
    return frame.with_columns(texts).write_csv()


def _terminal_text(table: TerminalTable, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def rich_table(name: str, frame: pl.DataFrame, *, title: str = "") -> TerminalTable:
    """Return a table in the `study` layout for `rich.print`."""
    return TerminalTable(title or name, sheets(frame, name))


def plain_sheet(frame: pl.DataFrame) -> Sheet:
    """Return any frame as one sheet under its own names."""

    def shown(column: str, value: object) -> str:
        return value if isinstance(value, str) else format_value(column, value)

    rows = [tuple(map(shown, frame.columns, row)) for row in frame.iter_rows()]
    return Sheet("", tuple(frame.columns), tuple(rows))


def sheets(frame: pl.DataFrame, name: str = "") -> list[Sheet]:
    """Return a table's groups as sheets of text, in order."""
    if frame.is_empty():
        return []
    section_columns = [column for column in SECTION_COLUMNS if column in frame.columns]
    if name == "mechanism":  # its rows are groups, so they stand on one sheet
        return [_sheet_of_settings(frame, section_columns)]
    if not section_columns:
        return [_sheet("", "", frame)]
    laid_out = []
    for group in frame.partition_by(section_columns, maintain_order=True):
        section = group.select(section_columns).row(0, named=True)
        measured_on = str(section.pop("measured_on", None) or "")
        caption = ", ".join(f"{heading(key)} {value}" for key, value in section.items() if value is not None)
        laid_out.append(_sheet(measured_on, caption, group.drop(section_columns)))
    return laid_out


def _sheet_of_settings(frame: pl.DataFrame, section_columns: Sequence[str]) -> Sheet:
    settings = [describe_setting(**row) for row in frame.select(section_columns).iter_rows(named=True)]
    measured_on = ", ".join(frame["measured_on"].unique(maintain_order=True))
    return _sheet(measured_on, "", frame.select(pl.Series("setting", settings), pl.exclude(section_columns)))


def _sheet(measured_on: str, caption: str, frame: pl.DataFrame) -> Sheet:
    """Lay out a group: a column per cell, or row by row."""
    kept, split = _filled_columns(frame)
    rows = [format_row(row) for row in kept.iter_rows(named=True)]
    text = pl.DataFrame(rows, schema=dict.fromkeys(rows[0] if rows else kept.columns, pl.String))
    for label_columns in LABEL_COLUMNS:
        if set(label_columns) <= set(frame.columns):
            labelled, names = _label_rows(frame, text, label_columns)
            if labelled.select("label", *names).is_unique().all():
                return _labelled_sheet(caption, measured_on, names, labelled, split)
    caption = ", ".join(part for part in (measured_on, caption) if part)
    return Sheet(caption, tuple(map(heading, text.columns)), tuple(text.rows()))


def _filled_columns(frame: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Return the columns with values, and the published split.

    The split alone is no column.
    """
    kept = frame.select(column for column in frame.columns if frame[column].null_count() < frame.height)
    if "qwen3_8b_split" not in kept.columns:
        return kept, None
    split = kept["qwen3_8b_split"].drop_nulls().first()
    published = [column for column in kept.columns if column.startswith("qwen3_8b_")]
    if len(published) == 1:
        kept = kept.drop(published)
    if split is None:
        return kept, None
    return kept, str(split)


def _label_rows(
    frame: pl.DataFrame, text: pl.DataFrame, label_columns: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Return rows labelled by cell, and columns that distinguish equal labels."""
    labels = pl.Series("label", [_label(*row) for row in frame.select(label_columns).rows()], pl.String)
    labelled = text.drop(label_columns, "qwen3_8b_split", strict=False).with_columns(labels)
    if labels.is_unique().all():
        return labelled, []
    return labelled, [column for column in labelled.columns if column in WORD_COLUMNS]


def _labelled_sheet(
    caption: str, measured_on: str, names: list[str], labelled: pl.DataFrame, split: str | None
) -> Sheet:
    """Return a sheet with one column per cell.

    A number of the cell as a whole, such as what its rows are shares of, is a single row.
    """
    labels = labelled["label"].unique(maintain_order=True).to_list()
    rows: list[tuple[str, ...]] = []
    for measured in labelled.drop("label", *names, *(["model"] if names else []), strict=False).columns:
        title = heading(measured, split=split)
        if not names:
            rows.append((title, *labelled[measured]))
            continue
        block = labelled.pivot("label", index=names, values=measured, maintain_order=True)
        if measured.startswith("cell_"):  # each of the cell's rows repeats it
            block = block.select(*(pl.lit("").alias(name) for name in names), pl.col(labels).max())
        for position, row in enumerate(block.rows()):
            rows.append((title if position == 0 else "", *(cell or "" for cell in row)))
    return Sheet(caption, (measured_on, *map(heading, names), *labels), tuple(rows))


def _label(*names: str | None) -> str:
    if len(names) == 1:
        return str(names[0]).replace("->", "→")
    return "{}→{} : {}→{}".format(*(LETTERS.get(name or "", name or "base") for name in names))


def markdown_row(cells: Sequence[str]) -> str:
    """Return the cells of one row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _markdown(sheet: Sheet) -> str:
    rules = ["---:" if is_number else "---" for is_number in sheet.number_columns()]
    lines = "\n".join(map(markdown_row, (sheet.header, rules, *sheet.rows)))
    if sheet.caption:
        return f"{sheet.caption}\n\n{lines}"
    return lines


def _latex_row(row: Sequence[str]) -> str:
    return " & ".join(map(_latex_text, row)) + r" \\"


def _latex(name: str, title: str, sheet: Sheet) -> str:
    body = map(_latex_row, sheet.rows)
    columns = "".join("r" if is_number else "l" for is_number in sheet.number_columns())
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_latex_text('; '.join(part for part in (title, sheet.caption) if part))}}}",
            rf"\label{{tab:{name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            *(r"\hline", _latex_row(sheet.header), r"\hline", *body, r"\hline"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_text(text: str) -> str:
    escapes = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    escapes |= {"→": r"$\to$", "±": r"$\pm$", "<": r"$<$", ">": r"$>$"}
    return text.translate(str.maketrans(escapes | {character: f"\\{character}" for character in "&%$#_{}"}))
