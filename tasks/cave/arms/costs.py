"""What each arm costs in tokens, drawn from the rows of `sql/tables/cave_costs.sql`."""

import io

import polars as pl

from carryover.tasks.cave.arms.arm import ARMS

_PANELS = (
    ("token_efficiency", "turn", "tokens of a conversation by its n-th turn"),
    ("data_sizes", "data_row_count", "tokens of a data task by rows of data"),
)


def draw_costs(rows: pl.DataFrame) -> str:
    """Return one SVG with a panel per suite; both axes of the data panel are logarithmic."""
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
