"""Token costs of each arm, drawn from the rows of `sql/tables/cave_costs.sql`."""

import io

import polars as pl

from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.tokens import TOKENIZER

_PANELS = (
    ("token_efficiency", "turn", "tokens of a conversation by its n-th turn"),
    ("data_sizes", "data_row_count", "tokens of a data task by rows of data"),
)


def draw_costs(rows: pl.DataFrame) -> str:
    """Draw a panel per suite as SVG, logarithmic for data."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "costs", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        for axes, (suite, column, title) in zip(figure.subplots(1, len(_PANELS)), _PANELS, strict=True):
            of_suite = rows.filter(pl.col("suite") == suite).sort(column)
            for arm in ARMS:
                line = of_suite.filter(pl.col("arm") == arm)
                axes.plot(line[column], line["mean_total_tokens"], marker="o", markersize=3, label=arm)
            if suite == "data_sizes":
                axes.set(xscale="log", yscale="log")
            axes.set(title=title, xlabel=column.replace("_", " "), ylabel="prompt and completion tokens")
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
    for suite, column, title in _PANELS:
        of_suite = rows.filter(pl.col("suite") == suite)
        table = of_suite.pivot("arm", index=column, values="mean_total_tokens", aggregate_function="mean").sort(column)
        arms = [arm for arm in ARMS if arm in table.columns]
        lines = [f"| {column.replace('_', ' ')} | {' | '.join(arms)} |", "|---" * (len(arms) + 1) + "|"]
        lines += [f"| {' | '.join(f'{value:,.0f}' for value in row)} |" for row in table.select(column, *arms).rows()]
        parts += [f"## {title.capitalize()}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
