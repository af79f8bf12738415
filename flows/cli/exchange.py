"""Traces of others under the lint, and ours for others."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import polars as pl

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.interchange.formats import Format, export_traces
from carryover.tasks.interchange.recorded import recorded_traces
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.lint.lint import lint_traces
from carryover.tasks.lint.sources import read_traces, traces_of_rows
from carryover.tasks.lint.summary import summarise_lint
from carryover.tasks.lint.trace import contract_name
from carryover.tasks.running.errors import UserError

COUNTED_EPISODES = """
select *
from episodes
where episode_id in (select episode_id from marts.episode_metrics where is_counted)
"""
"""What the tables are about: no attempt that was run again, and none that failed to the end."""


def lint_files(files: Iterable[Path], contract: str | None, *, per_trace: bool) -> pl.DataFrame:
    """Lint the traces of foreign files and folders; one row per declared contract, or per trace."""
    declared = _known_contract(contract)
    found = lint_traces(chain.from_iterable(read_traces(file, declared) for file in files))
    if found.is_empty():
        raise UserError("no trace in these files; give .jsonl or .parquet with `messages`, .trace.json or .atif.json")
    return found if per_trace else summarise_lint(found)


def lint_warehouse(warehouse: Warehouse, *, per_trace: bool) -> pl.DataFrame:
    """Lint the warehouse's counted episodes, as they are exported; one row per declared contract, or per trace."""
    turns, steps = warehouse.scan_copy("turns"), warehouse.scan_copy("steps")
    traces = traces_of_rows(warehouse.sql(COUNTED_EPISODES).polars(), turns, steps)
    found = lint_traces(traces, tools=TOOL_NAMES)
    return found if per_trace else summarise_lint(found)


def export_episodes(warehouse: Warehouse, folder: Path, format_name: Format, where: str) -> int:
    """Write the counted episodes that fulfil a SQL condition and return their count."""
    chosen = warehouse.sql(f"select * from ({COUNTED_EPISODES}) as episodes where {where}").polars()
    if chosen.is_empty():
        raise UserError(f"no episode fulfils {where!r}; the condition is on the columns of the table episodes")
    ids = chosen.lazy().select("episode_id")
    turns, steps = (warehouse.scan_copy(table).join(ids, on="episode_id", how="semi") for table in ("turns", "steps"))
    return export_traces(recorded_traces(chosen, turns, steps, warehouse.scan_copy("instances")), folder, format_name)


def _known_contract(declared: str | None) -> str | None:
    name = contract_name(declared)
    if name not in (None, "persistent", "stateless"):
        raise UserError(f"unknown contract {declared!r}; choose from persistent, stateless")
    return name
