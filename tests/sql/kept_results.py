"""Kept results, each study opened once per process."""

from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.stages.results import open_results

RESULTS = Path(str(files("carryover.sql") / "results"))


@cache
def kept_results(study: str) -> Warehouse:
    """Return the kept results of a study, for queries only."""
    return open_results(RESULTS / study)


@cache
def kept_table(study: str, name: str) -> pl.DataFrame:
    """Return the rows of a table of kept results."""
    return kept_results(study).sql(table_query(name).sql, plan_digest=study).polars()
