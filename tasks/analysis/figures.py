"""Figures 2 and 3 of arXiv 2603.01209 as SVG.

What the paper's text does not give, we chose, and the caption says so.
"""

import math
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP_COLUMNS = ("variant", "base", "visibility", "header", "measured_on")
"""Columns that the rows of one drawing share; its buckets are stacked."""

COLOURS = {"P": "#1f6fb2", "S": "#d9722e"}
"""By contract of training; the base model is grey. Filled marks ran persistent, hollow ones stateless."""

OTHER_COLOUR = "#777777"
MISSING_COLOUR = "#b3261e"
"""Of missing names, and of nothing else."""

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "carryover",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.constrained_layout.h_pad": 0.12,
    "grid.alpha": 0.25,
}

BEHAVIOUR_PANELS = (
    ("a", "state_utilization", "state utilization"),
    ("b", "imports_per_step", "imports per step"),
    ("c", "context_lifespan", "context lifespan (steps)"),
)

FIGURE_2_CAPTION = (
    "Figure 2. Mean tokens per episode (prompt and completion, logarithmic) against mean normalized optimality, one "
    "point per cell. Bars are 95 % bootstrap intervals where statistics have landed. Left ours, right the published "
    "values, where there are any. Colour is the contract of training, filled marks ran persistent, hollow ones "
    "stateless. The limits of the axes are ours."
)
FIGURE_3_CAPTION = (
    "Figure 3. Behaviour per trained cell: ours as bars, the published values as diamonds. The paper's text gives "
    "state utilization as the vertical axis of (a) and context lifespan as that of (c); the axes of (b) and every "
    "horizontal axis are lost, so we chose imports per step for (b) and the cells as the horizontal axis."
)


Ends = tuple[float | None, float | None, float | None]
"""Low end, value and high end."""


class Drawing(NamedTuple):
    """A figure of one group of cells."""

    name: str
    """File stem, e.g. `figure_2_main_common_declared_names`."""
    caption: str
    """Describes every drawing of its kind."""
    svg: str
    setting: str = ""
    """What this one is of, where the drawing does not say it."""


def draw_figure_2(points: pl.DataFrame) -> list[Drawing]:
    """Draw tokens against score, a drawing per group of `figure_2`."""
    return list(_drawings("figure_2", FIGURE_2_CAPTION, points, _plot_costs, columns=2))


def draw_figure_3(points: pl.DataFrame) -> list[Drawing]:
    """Draw trained cells' behaviour, a drawing per group of `figure_3`."""
    return list(_drawings("figure_3", FIGURE_3_CAPTION, points, _plot_behaviour, columns=3))


def _drawings(name: str, caption: str, points: pl.DataFrame, plot: Any, *, columns: int) -> Iterator[Drawing]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    for key, group in points.partition_by(*GROUP_COLUMNS, maintain_order=True, as_dict=True).items():
        *setting, measured_on = key
        variant, base, visibility, header = setting
        buckets = group.partition_by("bucket", maintain_order=True)
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(9, 2.9 * len(buckets)), layout="constrained")
            grid = figure.add_gridspec(len(buckets), columns)
            for position, rows in enumerate(buckets):
                has_published = rows["qwen3_8b_split"].null_count() < rows.height
                spans: Iterable[int | slice] = range(columns)
                if plot is _plot_costs and not has_published:
                    spans = [slice(None)]
                plot([figure.add_subplot(grid[position, span]) for span in spans], rows, measured_on)
            written = StringIO()
            figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
        svg = written.getvalue()
        ours = f"{measured_on}; variant {variant}, base {base}, visibility {visibility}, header {header}."
        yield Drawing("_".join([name, *setting]), caption, svg[svg.index("<svg") :], f"Ours: {ours}")


def _plot_costs(row: "list[Axes]", rows: pl.DataFrame, measured_on: str) -> None:
    """Draw our values, and published ones where the bucket has them."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    bucket = rows["bucket"][0]
    splits = rows["qwen3_8b_split"].drop_nulls().to_list()
    row[0].set_title(f"{measured_on}: {bucket}")
    if splits:
        row[1].set_title(f"Qwen3-8B (published): {splits[0].capitalize()}")
    for axes, prefix in zip(row, ("", "qwen3_8b_"), strict=False):
        points = []
        for point in rows.rows(named=True):
            trained, runtime = point["condition"].split("->")
            label = f"{'base' if point['model'] == 'base' else trained}→{runtime}"
            tokens = _interval_of(point, f"{prefix}mean_total_tokens")
            score = _interval_of(point, f"{prefix}score_pct")
            if tokens[1] and score[1] is not None:  # tokens that nobody counted have no place on a logarithmic axis
                points.append((tokens[1], score[1], label))
                _mark(axes, label, tokens, score)
        axes.set_xscale("log")
        start, end = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if end > 6 * start else MaxNLocator(4))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("tokens per episode (log)")
        axes.set_ylabel("normalized optimality (%)")
        axes.set_ylim(-5, 105)
        axes.margins(x=0.12)
        _name_points(axes, points)


def _name_points(axes: "Axes", points: list[tuple[float, float, str]]) -> None:
    """Write every point's cell beside it, so that none overlap."""
    start, end = axes.get_xlim()
    lower = [point for point in points if point[1] < 50]
    lower_height = 0.2 + max((score for _, score, _ in lower), default=0.0) / 110
    for side, height in ((lower, lower_height), ([point for point in points if point not in lower], 0.62)):
        for position, (x, y, label) in enumerate(sorted(side)):
            own = math.log(x / start) / math.log(end / start)  # the name stands between its point and its place in turn
            axes.annotate(
                label,
                (x, y),
                xytext=(0.4 * own + 0.6 * (position + 0.5) / len(side), height),
                textcoords="axes fraction",
                ha="center",
                color=COLOURS.get(label.partition("→")[0], OTHER_COLOUR),
                arrowprops={"arrowstyle": "-", "color": OTHER_COLOUR, "linewidth": 0.6, "shrinkB": 4},
            )


_SHAPES = {"P": "o", "S": "s"}
"""Marks by the first letter of a cell; others are triangles."""


def _interval_of(point: dict[str, Any], column: str) -> Ends:
    return point.get(f"{column}_low"), point[column], point.get(f"{column}_high")


def _mark(axes: "Axes", label: str, x: Ends, y: Ends) -> None:
    colour = COLOURS.get(label.partition("→")[0], OTHER_COLOUR)
    axes.errorbar(
        x[1] or 0,
        y[1] or 0,
        xerr=_reach(x),
        yerr=_reach(y),
        fmt=_SHAPES.get(label[:1], "^"),
        markersize=6 if label.endswith("→P") else 10,  # the hollow mark stands around a filled one of the same place
        color=colour,
        markerfacecolor=colour if label.endswith("→P") else "none",
        markeredgewidth=1.6,
        capsize=2,
        linestyle="none",
        label=label,
    )


def _reach(ends: Ends) -> list[list[float]] | None:
    low, middle, high = ends
    if low is None or middle is None or high is None:
        return None
    return [[max(middle - low, 0)], [max(high - middle, 0)]]


def _plot_behaviour(row: "list[Axes]", rows: pl.DataFrame, measured_on: str) -> None:
    for axes, (letter, column, words) in zip(row, BEHAVIOUR_PANELS, strict=True):
        _draw_bars(axes, rows, column, measured_on)
        has_published = _draw_published(axes, rows[f"qwen3_8b_{column}"])
        axes.set_ylabel(words)
        axes.set_title(f"({letter}) {rows['bucket'][0]}")
        axes.margins(y=0.25)
        if letter == "a" and has_published:
            axes.legend(loc="upper right", frameon=False)


def _draw_bars(axes: "Axes", rows: pl.DataFrame, column: str, measured_on: str) -> None:
    """Draw a bar per cell: colour by training, filled if persistent."""
    conditions = rows["condition"].to_list()
    positions = list(range(len(conditions)))
    colours = [COLOURS.get(condition.partition("->")[0], OTHER_COLOUR) for condition in conditions]
    fills = [colour if name.endswith("->P") else "white" for colour, name in zip(colours, conditions, strict=True)]
    heights = [value or 0 for value in rows[column]]
    axes.bar(positions, heights, color=fills, edgecolor=colours, linewidth=1.6, width=0.6, label=measured_on)
    axes.set_xticks(positions, [condition.replace("->", "→") for condition in conditions])


def _draw_published(axes: "Axes", values: pl.Series) -> bool:
    """Mark published values above the cells; tell whether any exist."""
    published = [(position, value) for position, value in enumerate(values) if value is not None]
    if published:
        axes.plot(*zip(*published, strict=True), "D", color="black", markersize=5, label="Qwen3-8B (published)")
    return bool(published)
