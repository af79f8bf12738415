"""Traces of others, and ours for others: lint, import, export."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import polars as pl

from flows.cli.places import find_places
from storage.batching import BatchedLanding
from storage.landing import LandingZone
from storage.merger import merge
from storage.runs import new_run_id
from storage.warehouse import Warehouse
from tasks.interchange.formats import Format, export_traces, import_traces
from tasks.interchange.imported import ImportSetting
from tasks.interchange.recorded import recorded_traces
from tasks.knapsack.environment import TOOL_NAMES
from tasks.lint.lint import lint_traces
from tasks.lint.sources import read_traces, traces_of_rows
from tasks.lint.summary import summarise_lint
from tasks.lint.trace import contract_name
from tasks.running.environment import describe_environment
from tasks.running.errors import UserError
from tasks.traces.study_rows import RunEndRow, RunRow

IMPORT_PLAN = "import"
"""Name and digest that stand for the plan of imported rows, which have none."""


def lint_files(files: Iterable[Path], contract: str | None, *, per_trace: bool) -> pl.DataFrame:
    """Lint the traces of foreign files and folders; one row per declared contract, or per trace."""
    declared = _known_contract(contract)
    found = lint_traces(chain.from_iterable(read_traces(file, declared) for file in files))
    if found.is_empty():
        raise UserError("no trace in these files; give .jsonl or .parquet with `messages`, or .trace.json")
    return found if per_trace else summarise_lint(found)


def lint_warehouse(warehouse: Warehouse, *, per_trace: bool) -> pl.DataFrame:
    """Lint the warehouse's own episodes; one row per declared contract, or per trace."""
    traces = traces_of_rows(warehouse.scan("episodes"), warehouse.scan("turns"), warehouse.scan("steps"))
    found = lint_traces(traces, tools=TOOL_NAMES)
    return found if per_trace else summarise_lint(found)


def export_episodes(warehouse: Warehouse, folder: Path, format_name: Format, where: str) -> int:
    """Write the episodes that fulfil a SQL condition and return their count."""
    chosen = warehouse.sql(f"select * from episodes where {where}").polars()
    if chosen.is_empty():
        raise UserError(f"no episode fulfils {where!r}; the condition is on the columns of the table episodes")
    ids = chosen.lazy().select("episode_id")
    turns, steps = (warehouse.scan(table).join(ids, on="episode_id", how="semi") for table in ("turns", "steps"))
    return export_traces(recorded_traces(chosen, turns, steps, warehouse.scan("instances")), folder, format_name)


def import_episodes(source: Path, contract: str, home: Path | None, model_name: str, train_contract: str | None) -> int:
    """Land foreign episodes under a run of their own, merge them, and return their count.

    Raises:
        UserError: The source cannot be read or holds no trace, or a contract is none; nothing has landed then.
    """
    places = find_places(home)
    zone = LandingZone(places.landing)
    run_id = new_run_id()
    setting = ImportSetting(
        run_id=run_id,
        runtime_contract=_known_contract(contract) or contract,
        model_name=model_name,
        train_contract=_known_contract(train_contract),
    )
    known: dict[str, str] = {}
    if places.warehouse.exists():
        with Warehouse.open(places.warehouse) as warehouse:
            known = dict(warehouse.sql("select task_id, any_value(instance_id) from instances group by task_id").rows())
    # Read to its end once before anything lands: a bad record far down must not leave half a source behind.
    count = sum(1 for _ in import_traces(source, setting, known))
    if not count:
        raise UserError(f"no trace in {source}; nothing was imported")
    zone.write({"runs": [_run_row(run_id, source)]}, run_id)
    with BatchedLanding(zone, run_id) as batch:
        for rows in import_traces(source, setting, known):
            batch.add(rows.tables())
    end = RunEndRow(run_id=run_id, status="finished", message="", finished_at=datetime.now(UTC))
    zone.write({"run_ends": [end]}, run_id)
    merge(zone, places.warehouse)
    return count


def _known_contract(declared: str | None) -> str | None:
    name = contract_name(declared)
    if name not in (None, "persistent", "stateless"):
        raise UserError(f"unknown contract {declared!r}; choose from persistent, stateless")
    return name


def _run_row(run_id: str, source: Path) -> RunRow:
    return RunRow(
        run_id=run_id,
        flow="import",
        plan_name=IMPORT_PLAN,
        plan_digest=IMPORT_PLAN,
        scale="import",
        plan_json=json.dumps({"source": str(source)}),
        environment_json=json.dumps(describe_environment()),
        started_at=datetime.now(UTC),
    )
