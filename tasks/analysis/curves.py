"""Figures of the dose studies, as SVG."""

import itertools
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from carryover.tasks.analysis.figures import COLOURS, MISSING_COLOUR, OTHER_COLOUR, STYLE, Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATCHES_CAPTION = (
    "The teacher's batch: the interaction of training and runtime on tokens, as a ratio of ratios (1: none), and "
    "missing names per P->S episode, against the items that a block of the teacher takes. Bars are 95 % intervals. "
    "The scripts play the same instances without a model."
)
MIXTURE_CAPTION = (
    "The mixture: P->S episodes that miss a name, and the tokens of the cells at home relative to an unmixed training, "
    "against the share of instances whose traces train the other contract's model. Bars are 95 % intervals, those of "
    "episodes cut to 0 and 100 %."
)

LIFETIMES_CAPTION = (
    "Lifetimes: tokens and missing names per episode, of models trained where a name outlives its block by 0 "
    "(stateless), 1, 3 or all further blocks (persistent), against its lifetime at run time. Bars are 95 % intervals."
)
_LIFETIME_COLOURS = ("#d9722e", "#b59b2c", "#3f9a6b", "#1f6fb2")
"""From stateless to persistent; further lifetimes begin anew."""


class Curve(NamedTuple):
    """One line of a panel: rows in order, with interval ends."""

    label: str
    colour: str
    style: str
    rows: pl.DataFrame
    column: str
    low: str | None = None
    high: str | None = None


class Panel(NamedTuple):
    """One drawing of curves over the same places."""

    title: str
    reference: float | None
    """Height of a dashed line, e.g. the value without an effect."""
    curves: tuple[Curve, ...]


def draw_batches(rows: pl.DataFrame) -> list[Drawing]:
    """Draw the study of the teacher's batch; nothing without its rows."""
    if rows.is_empty():
        return []
    crossed = rows.filter(condition="P->S")
    ends = ("interaction_ratio_low", "interaction_ratio_high")
    script_ends = ("script_interaction_ratio_low", "script_interaction_ratio_high")
    effect = (
        Curve("trained", COLOURS["P"], "o-", crossed, "interaction_ratio", *ends),
        Curve("scripts", OTHER_COLOUR, "s--", crossed, "script_interaction_ratio", *script_ends),
    )
    missed = (
        Curve("trained", MISSING_COLOUR, "o-", crossed, "trained_missing_names"),
        Curve("scripts", OTHER_COLOUR, "s--", crossed, "script_missing_names"),
    )
    panels = (
        Panel("interaction of tokens (ratio)", 1.0, effect),
        Panel("missing names per P->S episode", None, missed),
    )
    places = crossed["batch"].unique(maintain_order=True).to_list()
    svg = _draw(panels, "batch", places, "items that a block of the teacher takes")
    return [Drawing("batches", BATCHES_CAPTION, svg, f"Ours: {rows['measured_on'][0]}.")]


def draw_mixture(rows: pl.DataFrame) -> list[Drawing]:
    """Draw the study of the mixture; nothing without its rows."""
    if rows.is_empty():
        return []
    missed = tuple(_missed(rows, is_declared=is_declared) for is_declared in (True, False))
    lines = itertools.product(("P", "S"), (True, False))
    at_home = tuple(_at_home(rows, contract, is_declared=is_declared) for contract, is_declared in lines)
    panels = (Panel("P->S episodes that miss a name (%)", None, missed), Panel("tokens at home (ratio)", 1.0, at_home))
    places = rows["other_share"].unique(maintain_order=True).to_list()
    svg = _draw(panels, "other_share", places, "share of the other contract's episodes")
    return [Drawing("mixture", MIXTURE_CAPTION, svg, f"Ours: {rows['measured_on'][0]}.")]


def draw_lifetimes(rows: pl.DataFrame) -> list[Drawing]:
    """Draw the study of lifetimes, a drawing per visibility; nothing without its rows."""
    if rows.is_empty():
        return []
    drawings = []
    for (visibility,), shown in rows.partition_by(["visibility"], maintain_order=True, as_dict=True).items():
        lifetimes = shown["trained_blocks"].unique(maintain_order=True).to_list()
        panels = (
            Panel("tokens per episode", None, _by_lifetime(shown, lifetimes, "mean_total_tokens")),
            Panel("missing names per episode", None, _by_lifetime(shown, lifetimes, "missing_names_per_episode")),
        )
        places = shown["played_blocks"].unique(maintain_order=True).to_list()
        svg = _draw(panels, "played_blocks", places, "further blocks that a name outlives at run time")
        setting = f"Ours: {shown['measured_on'][0]}; visibility {visibility}."
        drawings.append(Drawing(f"lifetimes_{visibility}", LIFETIMES_CAPTION, svg, setting))
    return drawings


def _by_lifetime(rows: pl.DataFrame, lifetimes: Sequence[str], column: str) -> tuple[Curve, ...]:
    ends = (f"widest_{column}_low", f"widest_{column}_high")
    colours = itertools.cycle(_LIFETIME_COLOURS)
    return tuple(
        Curve(f"trained: {lifetime}", colour, "o-", rows.filter(trained_blocks=lifetime), column, *ends)
        for lifetime, colour in zip(lifetimes, colours, strict=False)
    )


def _missed(rows: pl.DataFrame, *, is_declared: bool) -> Curve:
    ends = ("widest_missing_name_episode_pct_low", "widest_missing_name_episode_pct_high")
    cell = rows.filter(pl.col("is_declared") == is_declared, condition="P->S")
    cell = cell.with_columns(pl.col(ends).clip(0, 100))  # a t interval over few seeds leaves what a share can be
    return Curve(_shown(is_declared), MISSING_COLOUR, _style(is_declared), cell, "missing_name_episode_pct", *ends)


def _at_home(rows: pl.DataFrame, contract: str, *, is_declared: bool) -> Curve:
    cell = rows.filter(pl.col("is_declared") == is_declared, condition=f"{contract}->{contract}")
    label = f"{contract}->{contract}, {_shown(is_declared)}"
    return Curve(label, COLOURS[contract], _style(is_declared), cell, "ratio_to_unmixed")


def _shown(is_declared: bool) -> str:
    if is_declared:
        return "declared"
    return "undeclared"


def _style(is_declared: bool) -> str:
    if is_declared:
        return "o-"
    return "s--"


def _draw(panels: Sequence[Panel], x: str, places: Sequence[str | float], words: str) -> str:
    """Return the SVG of panels side by side, places equally spaced."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.5 * len(panels), 3.2), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
            _draw_panel(axes, panel, x, places)
            axes.set_xlabel(words)
        written = StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    return svg[svg.index("<svg") :]


def _draw_panel(axes: "Axes", panel: Panel, x: str, places: Sequence[str | float]) -> None:
    axes.set_title(panel.title)
    axes.set_xticks(range(len(places)), [_place(place) for place in places])
    axes.margins(x=0.1, y=0.2)
    if panel.reference is not None:
        axes.axhline(panel.reference, color=OTHER_COLOUR, linewidth=0.8, linestyle=":")
    for curve in panel.curves:
        rows = curve.rows.filter(pl.col(curve.column).is_not_null())
        at = [places.index(place) for place in rows[x]]
        heights = rows[curve.column].to_list()
        reach = None
        if curve.low is not None and curve.high is not None:
            ends = zip(heights, rows[curve.low], rows[curve.high], strict=True)
            reach = _reaches(ends)
        axes.errorbar(at, heights, yerr=reach, fmt=curve.style, color=curve.colour, capsize=2, label=curve.label)
    axes.legend(frameon=False, fontsize=8)


def _reaches(ends: Iterable[tuple[float, float | None, float | None]]) -> list[list[float]]:
    """Return how far the bars reach, if there is an interval."""
    below: list[float] = []
    above: list[float] = []
    for height, low, high in ends:
        below.append(max(height - (height if low is None else low), 0.0))
        above.append(max((height if high is None else high) - height, 0.0))
    return [below, above]


def _place(place: str | float) -> str:
    if isinstance(place, str):
        return place
    return f"{place:.0%}"
