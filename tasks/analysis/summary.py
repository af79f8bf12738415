"""What a study found, on one screen."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import polars as pl
from rich.console import Console

from tasks.analysis.rendering import rich_table

WIDTH = 100


def study_summary(query: Callable[..., pl.DataFrame], **parameters: Any) -> str:
    """Return a study's cells as text of at most 100 columns.

    `query(name, **parameters)` returns the rows of a file of `sql/tables`, e.g. for `plan_digest="..."`.
    """
    console = Console(file=StringIO(), width=WIDTH, highlight=False)
    columns = ["condition", "episode_count", "score_pct", "mean_total_tokens"]
    frame = query("table_02", **parameters)
    with console.capture() as capture:
        console.print(rich_table("cells", frame.select(column for column in columns if column in frame.columns)))
        console.print("Every table: `carryover tables`; one page: `carryover report`.", markup=False)
    return capture.get()
