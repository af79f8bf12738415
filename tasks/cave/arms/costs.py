"""Token costs of each arm, drawn from the rows of `sql/tables/cave_costs.sql`."""

import io
from typing import NamedTuple

import polars as pl

from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.tokens import TOKENIZER


class _Panel(NamedTuple):
    """A suite's tokens by a column."""

    suite: str
    column: str
    title: str


_PANELS = (
    _Panel("token_efficiency", "turn", "tokens of a conversation by its n-th turn"),
    _Panel("data_sizes", "data_row_count", "tokens of a data task by rows of data"),
    _Panel("long_horizon", "turn", "tokens of a long conversation by its n-th turn"),
)
_CALLS = _Panel("bfcl", "category", "tokens of a BFCL task by category")
"""Tasks of one or a few independent calls; drawn in no panel."""
_LISTED_TURNS = 10
"""Turns of a panel's table, evenly spaced, where it has more."""
REFERENCE: ArmName = "persistent_code"
CALLS: ArmName = "json"


def draw_costs(rows: pl.DataFrame) -> str:
    """Draw a panel per suite as SVG, logarithmic for data."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "costs", "svg.fonttype": "none"}):
        figure = Figure(figsize=(13, 3.6), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(_PANELS)), _PANELS, strict=True):
            of_suite = rows.filter(pl.col("suite") == panel.suite).sort(panel.column)
            for arm in ARMS:
                line = of_suite.filter(pl.col("arm") == arm)
                axes.plot(line[panel.column], line["mean_total_tokens"], marker="o", markersize=3, label=arm)
            if panel.suite == "data_sizes":
                axes.set(xscale="log", yscale="log")
            axes.set(title=panel.title, xlabel=_label(panel), ylabel="prompt and completion tokens")
            axes.legend(fontsize="small", frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def cost_page(rows: pl.DataFrame) -> str:
    """Return a Markdown page of tokens by arm, per panel."""
    models = ", ".join(rows["model_name"].unique().sort())
    parts = [
        "# What each arm costs in tokens",
        f"Played by: {models}. The oracle's tokenizer: {TOKENIZER}.",
        "![](cave_costs.svg)",
    ]
    for panel in (*_PANELS, _CALLS):
        table = _table(rows, panel)
        if table.height:
            title = f"{panel.title[0].upper()}{panel.title[1:]}"
            parts += [f"## {title}", _listed(table, panel), _dearer(table, panel)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(rows: pl.DataFrame, panel: _Panel) -> pl.DataFrame:
    """Return a suite's mean tokens, a column per arm."""
    of_suite = rows.filter(pl.col("suite") == panel.suite)
    table = of_suite.pivot("arm", index=panel.column, values="mean_total_tokens", aggregate_function="mean")
    arms = [arm for arm in ARMS if arm in table.columns]
    return table.select(panel.column, *arms).sort(panel.column)


def _listed(table: pl.DataFrame, panel: _Panel) -> str:
    _, *arms = table.columns
    step = -(-table.height // _LISTED_TURNS)
    lines = [f"| {_label(panel)} | {' | '.join(arms)} |", "|---" * (len(arms) + 1) + "|"]
    for first, *counts in table[step - 1 :: step].rows():
        shown = f"{first:,}" if isinstance(first, int) else first
        cells = [shown, *(f"{count:,.0f}" for count in counts)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _dearer(table: pl.DataFrame, panel: _Panel) -> str:
    """Return where injected objects cost more than native calls; empty if nowhere."""
    if not {REFERENCE, CALLS} <= set(table.columns):
        return ""
    dearer = table.filter(pl.col(REFERENCE) > pl.col(CALLS))
    if not dearer.height:
        return ""
    ratio = dearer.select(pl.col(REFERENCE).sum() / pl.col(CALLS).sum()).item()
    return f"Here `{REFERENCE}` costs {ratio:.2f} times `{CALLS}` in {dearer.height} of {table.height} lines."


def _label(panel: _Panel) -> str:
    return panel.column.replace("_", " ")
