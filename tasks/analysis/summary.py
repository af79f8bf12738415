"""What a finished study shows on one screen: the 2x2, the sentence that it supports, and the tokens table."""

import polars as pl
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tasks.analysis.pictures import Cell, cells_of

_CELLS = (
    ("P→P", "persistent", "persistent"),
    ("P→S", "persistent", "stateless"),
    ("S→S", "stateless", "stateless"),
    ("S→P", "stateless", "persistent"),
)
_GROUP = ["variant", "base", "visibility", "header", "bucket"]


def study_summary(episodes: pl.DataFrame, statistics: pl.DataFrame) -> Group:
    """Return at most 24 lines of 100 columns about a plan's first group of cells.

    Args:
        episodes: Rows of `marts.episode_metrics`: the plan's trained models under evaluation.
        statistics: Rows of `statistics` of the plan.
    """
    if episodes.is_empty():
        return Group(Text("no evaluated models"))
    declared = episodes.filter((pl.col("variant") == "main") & (pl.col("visibility") == "declared"))
    group = (episodes if declared.is_empty() else declared).sort(_GROUP).select(_GROUP).row(0, named=True)
    cells = cells_of(episodes.filter(**group))
    ratios = _ratios(statistics.filter(**group)) if not statistics.is_empty() else {}
    title = f"{group['bucket']} instances, base {group['base']} (X→Y: trained on contract X, run under contract Y)"
    return Group(
        Text(title, style="bold"), _grid(cells), Text(_sentence(cells, ratios)), Text(), _tokens(cells, ratios)
    )


def _ratios(statistics: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return each cell's tokens over those of P→P, with the 95 % interval."""
    rows = statistics.filter(
        analysis="ratio", metric="total_tokens", comparison_group="against_aligned", interval_kind="percentile"
    ).filter((pl.col("train_b") == "persistent") & (pl.col("runtime_b") == "persistent"))
    columns = ("train_a", "runtime_a", "estimate", "low", "high")
    return {(train, run): f"{value:.2f} [{low:.2f}, {high:.2f}]" for train, run, value, low, high in
            rows.select(columns).rows()}  # fmt: skip


def _grid(cells: dict[tuple[str, str], Cell]) -> Table:
    grid = Table("", "runs persistent", "runs stateless", show_lines=True)
    for train in ("persistent", "stateless"):
        found = (cells.get((train, runtime)) for runtime in ("persistent", "stateless"))
        grid.add_row(f"trained {train}", *("\n".join(cell.lines()[:3]) if cell else "no episodes" for cell in found))
    return grid


def _sentence(cells: dict[tuple[str, str], Cell], ratios: dict[tuple[str, str], str]) -> str:
    mismatched = cells.get(("persistent", "stateless"))
    if mismatched is None:
        return "No episodes of a persistent-trained model under the stateless runtime."
    missed = f"{100 * mismatched.missing_name_share:.0f} % of the episodes miss a name"
    ratio = ratios.get(("persistent", "stateless"))
    cost = f", at {ratio} times the tokens of P→P (95 % interval)" if ratio else ""
    return f"Trained persistent and run stateless, {missed}{cost}."


def _tokens(cells: dict[tuple[str, str], Cell], ratios: dict[tuple[str, str], str]) -> Table:
    table = Table("tokens per episode", *(name for name, *_ in _CELLS))
    keys = [(train, runtime) for _, train, runtime in _CELLS]
    found = [cells.get(key) for key in keys]
    table.add_row("mean", *(f"{cell.tokens:,.0f}" if cell and cell.tokens else "-" for cell in found))
    table.add_row("ratio to P→P [95 %]", "1", *(ratios.get(key, "-") for key in keys[1:]))
    return table
