"""Export of own episodes, and of rewards for reinforcement learning."""

import json
from pathlib import Path

from carryover.flows.cli.folders import choose_plan
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.cave.arms.rewards import reward_record
from carryover.tasks.interchange.formats import export_traces
from carryover.tasks.interchange.recorded import recorded_traces
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import written_whole
from carryover.tasks.traces.vocabulary import ExportFormat


def export_episodes(warehouse: Warehouse, folder: Path, format_name: ExportFormat, where: str, plan: str | None) -> int:
    """Write a plan's counted episodes under a condition; return their count.

    Raise `UserError` if there is none, or for the authors' layout without the name of one of several plans.
    """
    known = [digest for (digest,) in warehouse.sql(command_sql("known_plans")).rows()]
    if format_name == "authors" and plan is None and len(known) > 1:
        raise UserError(f"the warehouse holds {len(known)} plans; name one with --plan: {', '.join(known[:5])}")
    counted = f"select * from ({command_sql('counted_episodes')}) as episodes where {where}"
    chosen = warehouse.sql(counted, plan_digest=default_plan(warehouse, plan)).polars()
    if chosen.is_empty():
        raise UserError(f"no episode matches {where!r}; use columns of the table episodes")
    ids = chosen.lazy().select("episode_id")
    turns = warehouse.scan("turns").join(ids, on="episode_id", how="semi")
    steps = warehouse.scan("steps").join(ids, on="episode_id", how="semi")
    return export_traces(recorded_traces(chosen, turns, steps, warehouse.scan("instances")), folder, format_name)


def default_plan(warehouse: Warehouse, plan: str | None) -> str | None:
    """Return the named plan, else the latest finished one, else `None`.

    `None` stands for every plan.
    """
    if plan is None:
        return warehouse.latest_plan()
    return choose_plan(warehouse, plan)


def write_rewards(warehouse: Warehouse, file: Path) -> int:
    """Write the episodes of CaveAgent's suites for reinforcement learning; return how many."""
    rows = warehouse.sql(command_sql("cave_rewards")).arrow().to_pylist()
    with written_whole(file) as unfinished, unfinished.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(reward_record(row)) + "\n")
    return len(rows)
