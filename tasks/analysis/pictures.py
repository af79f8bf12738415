"""The 2x2 of the study as a picture: train contract by runtime contract, for a terminal and as SVG."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from carryover.tasks.analysis.templates import render_template

ROWS = (("persistent", "trained persistent"), ("stateless", "trained stateless"))
COLUMNS = (("persistent", "runs persistent"), ("stateless", "runs stateless"))


class Cell(NamedTuple):
    """What the picture says about one cell of the 2x2."""

    score: float | None
    """Mean normalized optimality in [0, 1]; None where no episode has a score."""
    tokens: float | None
    """Mean tokens per episode; None where nobody counted them."""
    token_ratio: float | None
    """Tokens over those of P->P; None without a P->P, or where nobody counted its tokens."""
    missing_name_share: float
    """Share of episodes with a missing-name error."""
    imports_per_step: float
    state_utilization: float | None
    """None where nobody told which names were alive."""

    def lines(self) -> list[str]:
        """Return the cell in words, most important first."""
        ratio = f" ({self.token_ratio:.2f} x P→P)" if self.token_ratio is not None else ""
        return [
            "tokens unknown" if self.tokens is None else f"{self.tokens:,.0f} tokens{ratio}",
            f"missing name in {100 * self.missing_name_share:.0f} % of episodes",
            "no score" if self.score is None else f"score {100 * self.score:.1f}",
            f"{self.imports_per_step:.2f} imports per step",
            "state utilization unknown"
            if self.state_utilization is None
            else f"state utilization {self.state_utilization:.2f}",
        ]


Cells = Mapping[tuple[str, str], Cell]


def cells_of(episodes: pl.DataFrame) -> dict[tuple[str, str], Cell]:
    """Average the rows of `marts.episode_metrics` of one group into cells by (train contract, runtime contract)."""
    trained = episodes.filter(
        (pl.col("purpose") == "evaluation") & pl.col("is_counted") & pl.col("train_contract").is_not_null()
    )
    means = trained.group_by("train_contract", "runtime_contract").agg(
        pl.col("score").mean(),
        pl.col("total_tokens").mean(),
        pl.col("has_missing_name").mean(),
        pl.col("imports_per_step").mean().fill_null(0.0),
        pl.col("state_utilization").mean(),
    )
    by_cell = {(row[0], row[1]): row[2:] for row in means.rows()}
    aligned = by_cell.get(("persistent", "persistent"))
    return {
        key: Cell(
            score, tokens, tokens / aligned[1] if aligned and aligned[1] and tokens else None, missing, imports, used
        )
        for key, (score, tokens, missing, imports, used) in sorted(by_cell.items())
    }


def cells_text(cells: Cells, title: str) -> Group:
    """Return the 2x2 for `rich.print`; a cell without episodes says so."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("", *(Text(words, style="bold", justify="center") for _, words in COLUMNS))
    for train, train_words in ROWS:
        panels = []
        for runtime, _ in COLUMNS:
            cell = cells.get((train, runtime))
            lines = cell.lines() if cell else ["no episodes"]
            panels.append(Panel("\n".join(lines), width=44, border_style="green" if train == runtime else "yellow"))
        grid.add_row(Text(f"\n\n{train_words}", style="bold"), *panels)
    return Group(Text(title, style="bold"), grid)


def cells_svg(cells: Cells, title: str) -> str:
    """Return the 2x2 as a self-contained SVG; aligned cells and mismatched ones differ in colour and in their label."""
    rows = [
        {"words": words, "cells": [_drawn(cells.get((train, runtime)), train == runtime) for runtime, _ in COLUMNS]}
        for train, words in ROWS
    ]
    return render_template(
        "cells.svg.jinja", title=title, columns=[{"words": words} for _, words in COLUMNS], rows=rows
    )


def _drawn(cell: Cell | None, is_aligned: bool) -> dict[str, object]:
    return {"is_aligned": is_aligned, "lines": cell.lines() if cell else ["no episodes"]}
