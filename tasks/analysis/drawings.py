"""The pictures of a study: 2x2, Figures 2 and 3, doses."""

from collections.abc import Callable, Collection

import polars as pl

from carryover.tasks.analysis.curves import draw_batches, draw_lifetimes, draw_mixture
from carryover.tasks.analysis.figures import Drawing, draw_figure_2, draw_figure_3
from carryover.tasks.analysis.formatting import describe_setting
from carryover.tasks.analysis.pictures import cells_of, cells_svg
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS

GROUPS = (*GROUP_COLUMNS, "measured_on")
CELLS_CAPTION = (
    "Means per episode, with 95 % intervals (over several seeds the wider of two). Colour is the contract of "
    "training; red is the share of episodes with an uncaught error about a name that the interpreter does not know."
)
Read = Callable[[str], pl.DataFrame]
"""Returns the rows of a file of `sql/tables` by its name."""


def draw_cells(read: Read) -> list[Drawing]:
    """Return the 2x2 of every group of a plan's cells."""
    drawings = []
    for key, group in read("cells").partition_by(GROUPS, maintain_order=True, as_dict=True).items():
        *names, measured_on = map(str, key)
        cells = cells_of(group)
        if not cells:  # contracts of one's own alone
            continue
        title = f"{describe_setting(**dict(zip(GROUPS, key, strict=True)))} ({measured_on})"
        drawings.append(Drawing("_".join(["cells", *names]), CELLS_CAPTION, cells_svg(cells, title)))
    return drawings


def draw_figures(read: Read, tables: Collection[str]) -> list[Drawing]:
    """Return Figures 2 and 3 of every group, and dose figures.

    A plan whose tables lack the paper's has none.
    """
    if "figure_2" not in tables:
        return []
    of_paper = [*draw_figure_2(read("figure_2")), *draw_figure_3(read("figure_3"))]
    of_doses = [*draw_batches(read("batches")), *draw_mixture(read("mixture")), *draw_lifetimes(read("lifetimes"))]
    return [*of_paper, *of_doses]
