"""Lint of foreign and own traces, and export of own ones."""

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import polars as pl

from carryover.flows.cli.folders import choose_plan
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.interchange.chat import conversation
from carryover.tasks.interchange.formats import Format, export_traces
from carryover.tasks.interchange.recorded import recorded_traces
from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES
from carryover.tasks.lint.lint import lint_traces, summarise_lint
from carryover.tasks.lint.sources import read_traces, traces_of_rows
from carryover.tasks.lint.trace import contract_name
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import ContractName


def lint_files(files: Iterable[Path], contract: str | None, *, per_trace: bool) -> pl.DataFrame:
    """Lint the traces of foreign files and folders; one row per declared contract, or per trace.

    Raise `UserError` for an unreadable file, and where no trace or no code was found.
    """
    declared = contract_name(contract)
    if declared is not None and declared not in set(ContractName):
        raise UserError(f"unknown contract {contract!r}; choose from {', '.join(ContractName)}")
    found = lint_traces(chain.from_iterable(read_traces(file, declared) for file in files))
    if found.is_empty():
        raise UserError("no trace in these files; give .jsonl or .parquet with `messages`, .trace.json or .atif.json")
    return _report_code(found, per_trace=per_trace)


def lint_warehouse(warehouse: Warehouse, plan: str | None, *, per_trace: bool) -> pl.DataFrame:
    """Lint a plan's counted episodes, as they are exported; one row per declared contract, or per trace."""
    turns, steps = warehouse.scan("turns"), warehouse.scan("steps")
    episodes = warehouse.sql(command_sql("counted_episodes"), plan_digest=_default_plan(warehouse, plan)).polars()
    is_injecting = pl.col("shown_contract").str.starts_with(ContractName.INJECTED)
    found = pl.concat(
        (
            lint_traces(traces_of_rows(episodes.filter(chosen), turns, steps), tools=provided)
            for chosen, provided in ((~is_injecting, TOOL_NAMES), (is_injecting, (*TOOL_NAMES, *KNOWN_NAMES)))
        ),
        how="vertical_relaxed",
    )
    return _report_code(found, per_trace=per_trace)


def export_episodes(warehouse: Warehouse, folder: Path, format_name: Format, where: str, plan: str | None) -> int:
    """Write a plan's counted episodes that fulfil a SQL condition and return their count.

    Raise `UserError` if there is none, or for the authors' layout without the name of one of several plans.
    """
    known = [digest for (digest,) in warehouse.sql(command_sql("known_plans")).rows()]
    if format_name == "authors" and plan is None and len(known) > 1:
        raise UserError(f"the warehouse holds {len(known)} plans; name one with --plan: {', '.join(known[:5])}")
    counted = f"select * from ({command_sql('counted_episodes')}) as episodes where {where}"
    chosen = warehouse.sql(counted, plan_digest=_default_plan(warehouse, plan)).polars()
    if chosen.is_empty():
        raise UserError(f"no episode matches {where!r}; use columns of the table episodes")
    ids = chosen.lazy().select("episode_id")
    turns, steps = (warehouse.scan(table).join(ids, on="episode_id", how="semi") for table in ("turns", "steps"))
    return export_traces(recorded_traces(chosen, turns, steps, warehouse.scan("instances")), folder, format_name)


def _default_plan(warehouse: Warehouse, plan: str | None) -> str | None:
    """Return the plan that was named, else the latest finished one, else `None` for every plan."""
    return warehouse.latest_plan() if plan is None else choose_plan(warehouse, plan)


def _report_code(found: pl.DataFrame, *, per_trace: bool) -> pl.DataFrame:
    """Return the traces or their summary; raise `UserError` where no trace holds a block."""
    if not found["block_count"].sum():
        unread = found["unread_count"].sum()
        reason = f"{_counted(unread, 'tool call')} without Python source" if unread else "no block, tag or tool call"
        raise UserError(
            f"no code found in {_counted(found.height, 'trace')}: {reason}"
            "; code is read from ``` and ~~~ fences, <execute>, <code>, and tool calls with an argument `code`"
        )
    return found if per_trace else summarise_lint(found)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def write_rewards(warehouse: Warehouse, file: Path) -> int:
    """Write the episodes of CaveAgent's suites for reinforcement learning; return how many."""
    rows = warehouse.sql(command_sql("cave_rewards")).arrow().to_pylist()
    with file.open("w", encoding="utf-8") as lines:
        for row in rows:
            replies = [(reply["assistant_text"], reply["observation"]) for reply in row.pop("replies")]
            messages = conversation(json.loads(row.pop("opening")), replies)
            lines.write(json.dumps({**row, "messages": messages}) + "\n")
    return len(rows)
