"""The 2x2 of the study as a picture, in text and SVG."""

from collections.abc import Mapping
from itertools import product
from textwrap import wrap
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from carryover.tasks.analysis.figures import COLOURS, MISSING_COLOUR

ROWS = (("P", "trained persistent"), ("S", "trained stateless"))
COLUMNS = (("P", "runs persistent"), ("S", "runs stateless"))
TERMINAL_COLOURS = {"P": "blue", "S": "yellow"}
PANEL_WIDTH = 39
"""Two panels fit 80 columns."""

_TEMPLATES = Environment(
    loader=PackageLoader("carryover.tasks.analysis"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
Cells = Mapping[str, Mapping[str, Any]]
"""Rows of `sql/tables/cells.sql` of one group by their condition, e.g. `P->S`."""


def cells_of(rows: pl.DataFrame) -> Cells:
    """Return a group's rows of the table `cells`, by condition."""
    shown = {f"{train}->{runtime}" for (train, _), (runtime, _) in product(ROWS, COLUMNS)}
    return {row["condition"]: row for row in rows.iter_rows(named=True) if row["condition"] in shown}


def cells_text(cells: Cells, title: str) -> Group:
    """Return the 2x2 for `rich.print`, coloured by contract of training."""
    most = _most_tokens(cells)
    grid = Table.grid(padding=(0, 1), pad_edge=False)
    grid.add_row(*(Text(words, style="bold", justify="center") for _, words in COLUMNS))
    for train, train_words in ROWS:
        panels = []
        for runtime, _ in COLUMNS:
            body = "no episodes"
            if cell := cells.get(f"{train}->{runtime}"):
                lines = _words(cell)
                length = round((PANEL_WIDTH - 4) * (cell["mean_tokens"] or 0) / most)
                body = "\n".join([lines["missing"], lines["tokens"], "█" * length, lines["score"], lines["behaviour"]])
            panels.append(Panel(body, title=train_words, width=PANEL_WIDTH, border_style=TERMINAL_COLOURS[train]))
        grid.add_row(*panels)
    return Group(Text(title, style="bold"), grid)


def cells_svg(cells: Cells, title: str) -> str:
    """Return the 2x2 as a self-contained SVG with bars and intervals."""
    rows = []
    for train, train_words in ROWS:
        row = []
        for runtime, runtime_words in COLUMNS:
            shown = {
                "condition": f"{train}→{runtime}",
                "words": f"{train_words}, {runtime_words}",
                "is_aligned": train == runtime,
                "colour": COLOURS[train],
                "values": cells.get(f"{train}->{runtime}"),
            }
            row.append(shown)
        rows.append(row)
    return _TEMPLATES.get_template("cells.svg.jinja").render(
        title=title,
        title_lines=wrap(title, 48),
        rows=rows,
        words=_words,
        most_tokens=_most_tokens(cells),
        missing_colour=MISSING_COLOUR,
    )


def _most_tokens(cells: Cells) -> float:
    ends = []
    for cell in cells.values():
        ends += [cell["mean_tokens_high"], cell["mean_tokens"]]
    return max((end for end in ends if end), default=1.0)


def _words(cell: Mapping[str, Any]) -> dict[str, str]:
    """Return a cell's words; an uncounted number is unknown."""
    ratio = "" if cell["token_ratio"] is None else f", {cell['token_ratio']:.2f} x P→P"
    state = "unknown" if cell["state_utilization"] is None else f"{cell['state_utilization']:.2f}"
    return {
        "missing": f"{cell['missing_name_pct']:.0f} % miss a name",
        "tokens": "tokens unknown" if cell["mean_tokens"] is None else f"{cell['mean_tokens']:,.0f} tokens{ratio}",
        "score": "no score" if cell["score_pct"] is None else f"score {cell['score_pct']:.1f}",
        "behaviour": f"imports/step {cell['imports_per_step'] or 0:.2f}, state use {state}",
    }
