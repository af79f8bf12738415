"""Kept results: a study's rows per episode, without text.

A folder of results holds `episodes.parquet` (rows of `marts.episode_metrics`, each with the digest of its plan),
`statistics.parquet` (computed from them, with the folder's name for a plan), `plans.json` (what each digest stands
for, and where it ran) and what `kept_training.py` and `kept_updates.py` beside this module keep of the trainings. Parts
of a study that ran as plans of their own are read as one study again.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.errors import WarehouseError
from carryover.storage.sql_text import quoted, quoted_path
from carryover.storage.warehouse.connection import open_memory, shut_files_out
from carryover.storage.warehouse.marts import create_views, refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.schemas import column_default, to_arrow
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.whole_files import folder_filled_whole, write_whole
from carryover.tasks.stages.kept_files import read_kept, write_kept
from carryover.tasks.stages.kept_training import insert_training, keep_training
from carryover.tasks.stages.kept_updates import insert_updates, keep_updates
from carryover.tasks.traces.result_rows import ClaimRow, StatisticRow
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.study_rows import RunEndRow, RunRow

ComputeStatistics = Callable[[pl.DataFrame, str, dict[str, Any]], list[StatisticRow]]
"""Returns the statistics of episodes of one plan digest, by the settings of a plan (its field `statistics`)."""

EPISODES = "episodes.parquet"
STATISTICS = "statistics.parquet"
PLANS = "plans.json"
EPISODE_KEY = tuple(column for column in EpisodeRow.SAME_EPISODE if column not in ("plan_digest", "model_name"))
"""Key of an episode within a study, regardless of plan and model name."""

_RUNS = """
select runs.run_id, runs.plan_name, runs.plan_digest, runs.scale, runs.plan_json, runs.environment_json,
    runs.started_at, run_ends.finished_at
from runs
left join run_ends on runs.run_id = run_ends.run_id and run_ends.status = 'finished'
where runs.plan_digest in (select unnest($digests))
qualify row_number() over (
    partition by runs.plan_digest
    order by runs.flow = 'reproduce_study' desc, run_ends.finished_at desc nulls last, runs.started_at desc
) = 1
order by runs.plan_digest
"""
_EPISODES = """
select * from marts.episode_metrics
where plan_digest in (select unnest($digests)) and is_counted"""


class KeptPlan(FrozenModel):
    """A plan by its digest in the rows."""

    run_id: str
    plan_name: str
    plan_digest: str
    scale: str
    plan: dict[str, Any]
    """The resolved plan, digest of its source included."""
    environment: dict[str, Any]
    """Python, package versions, CPU or GPU."""
    started_at: datetime
    finished_at: datetime | None
    """When the run ended with all of the plan done; None if it was still running."""


def keep_results(
    warehouse: Warehouse, plan_digests: Sequence[str], folder: Path, compute: ComputeStatistics, where: str = "true"
) -> int:
    """Add plans' counted episodes to a folder of results.

    Rows of the same plans are replaced. An episode of several plans is kept once, and one of a teacher or an untrained
    base that the folder holds already is not added again: parts that ran apart play the same ones. `where` is a
    condition on the columns of `marts.episode_metrics`, which keeps cells out that a run has not finished. Raise
    `WarehouseError` for a plan without a run here, and for an episode of a trained model under two plans.
    """
    folder = folder.resolve()  # one given as `.` has a name, too
    digests = list(dict.fromkeys(plan_digests))
    new_plans = [_kept_plan(row) for row in warehouse.sql(_RUNS, digests=digests).arrow().to_pylist()]
    if missing := sorted(set(digests) - {plan.plan_digest for plan in new_plans}):
        raise WarehouseError(f"no run of plan {', '.join(missing)} here; `carryover query` tells which have run")
    found = warehouse.sql(f"{_EPISODES} and ({where})", digests=digests).polars()
    new = episodes = found.sort("plan_digest").unique("episode_id", keep="first", maintain_order=True)
    if (path := folder / EPISODES).exists():
        former = read_kept(path).filter(~pl.col("plan_digest").is_in(digests))
        episodes = join_former(former, new)
    episodes = episodes.sort(EPISODE_KEY)
    kept_ids = episodes.select(pl.col("episode_id").alias("kept_id"), *EPISODE_KEY)
    same = new.join(kept_ids, on=EPISODE_KEY, nulls_equal=True).select("episode_id", "kept_id")
    plans = [plan for plan in read_plans(folder) if plan.plan_digest not in digests] + new_plans

    # All are made before one replaces its former: who stops in between keeps what the folder held.
    with folder_filled_whole(folder) as unfinished:
        write_kept(episodes, unfinished / EPISODES)
        keep_training(warehouse, folder, same, episodes["episode_id"], target=unfinished)
        keep_updates(warehouse, folder, digests, target=unfinished)
        lines = [json.dumps(plan.model_dump(mode="json"), sort_keys=True) for plan in plans]  # a plan a line
        write_whole(unfinished / PLANS, "[\n" + ",\n".join(lines) + "\n]\n")
        _write_statistics(unfinished, folder.name, compute)
    return episodes.height


def join_former(former: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Return the episodes of former plans and of new ones.

    One of a teacher or an untrained base is kept once. Raise `WarehouseError` for one of a trained model under two
    plans.
    """
    former = former.unique("episode_id", keep="first", maintain_order=True)
    is_untrained = pl.col("train_contract").is_null() | (pl.col("base") == "teacher")
    known = former.filter(is_untrained).select(EPISODE_KEY)
    added = new.join(known, on=EPISODE_KEY, how="anti", nulls_equal=True)
    episodes = pl.concat([former, added], how="diagonal")
    is_repeated = episodes.select(EPISODE_KEY).is_duplicated()
    if twice := episodes.filter(is_repeated)["plan_digest"].unique().to_list():
        raise WarehouseError(f"the same episodes stand under plans {', '.join(sorted(twice))}; keep one of them")
    return episodes


def write_statistics(folder: Path, compute: ComputeStatistics) -> int:
    """Recompute and write a folder's statistics; return their count.

    The episodes are read as one plan that bears the folder's name, with the settings of the plan that was kept last.
    Raise `WarehouseError` for a folder without results.
    """
    folder = folder.resolve()
    return _write_statistics(folder, folder.name, compute)


def _write_statistics(folder: Path, name: str, compute: ComputeStatistics) -> int:
    """Compute and write the statistics of a folder that bears, or will bear, this name."""
    settings = _plans_of(folder)[-1].plan.get("statistics", {})
    episodes = read_kept(folder / EPISODES).with_columns(pl.lit(name).alias("plan_digest"))
    statistics = compute(episodes, name, settings)
    write_kept(pl.DataFrame(to_arrow(statistics)), folder / STATISTICS)
    return len(statistics)


def read_plans(folder: Path) -> list[KeptPlan]:
    """Return the plans of a folder of results.

    Empty if there is no folder.
    """
    path = folder / PLANS
    if path.exists():
        return [KeptPlan.model_validate(plan) for plan in json.loads(path.read_text("utf-8"))]
    return []


def open_results(folder: Path, claims: Sequence[ClaimRow] = ()) -> Warehouse:
    """Return a folder of results as a warehouse.

    The one plan of that warehouse bears the folder's present name, and its run has finished; the digest of the plan
    that a row ran under stands in the column `kept_plan_digest`. Rows below the episode (steps, errors, texts) are not
    kept, so their tables are empty, as those of training sets are where a folder has none. Raise `WarehouseError` for a
    folder without results.
    """
    folder = folder.resolve()
    plans = _plans_of(folder)
    connection = open_memory()
    connection.execute("attach ':memory:' as warehouse")  # the name under which a warehouse's readers look
    connection.execute("use warehouse")
    migrate(connection)
    refresh_marts(connection, is_materialized=False)
    name = quoted(folder.name)
    columns = connection.sql("select column_name, column_type from (describe marts.episode_metrics)").fetchall()
    connection.execute("drop view marts.episode_metrics")
    connection.execute(
        f"create table marts.episode_metrics as select * replace ({name} as plan_digest), "
        f"plan_digest as kept_plan_digest from read_parquet({quoted_path(str(folder / EPISODES))})"
    )
    _add_missing_columns(connection, columns)
    create_views(connection)  # a view of other columns than before binds no more
    connection.execute(
        f"insert into main.statistics by name select * replace ({name} as plan_digest, {name} as run_id) "
        f"from read_parquet({quoted_path(str(folder / STATISTICS))})"
    )
    insert_training(connection, folder)
    insert_updates(connection, folder)
    for rows in ([_run_of(folder.name, plans)], [_end_of(folder.name, plans)], claims):
        if rows:
            connection.register("arrived", to_arrow(rows))
            connection.execute(f"insert into main.{rows[0].TABLE} by name select * from arrived")
    shut_files_out(connection)
    return Warehouse(connection, folder / EPISODES)


def _kept_plan(row: dict[str, Any]) -> KeptPlan:
    """Return a run's plan without the folders above its local files, since others read it."""
    plan = json.loads(row.pop("plan_json"))
    for part in plan.get("parts", ()):
        if model := part["training"]["base_model"]:
            part["training"]["base_model"] = _base_name(model)
    environment = json.loads(row.pop("environment_json"))
    if typed := environment.get("command_line"):
        environment["command_line"] = shlex.join(map(_base_name, shlex.split(typed)))
    return KeptPlan(plan=plan, environment=environment, **row)


def _base_name(word: str) -> str:
    """Return a word of a command line with the last part of its local path; other words as they are."""
    option, equals, path = word.rpartition("=")
    is_local = path.startswith(("/", "~")) and "://" not in option
    if not is_local:
        return word
    return f"{option}{equals}{Path(path).name or path}"


def _run_of(name: str, plans: Sequence[KeptPlan]) -> RunRow:
    first = plans[0]
    return RunRow(
        run_id=name,
        flow="reproduce_study",
        plan_name=first.plan_name,
        plan_digest=name,
        scale=first.scale,  # type: ignore[arg-type]
        plan_json=json.dumps([plan.plan for plan in plans]),
        environment_json=json.dumps(first.environment),
        source=first.environment.get("source"),
        started_at=min(plan.started_at for plan in plans),
    )


def _end_of(name: str, plans: Sequence[KeptPlan]) -> RunEndRow:
    return RunEndRow(
        run_id=name,
        status="finished",
        message=f"kept from plans {', '.join(plan.plan_digest for plan in plans)}",
        finished_at=max(plan.finished_at or plan.started_at for plan in plans),
    )


def _add_missing_columns(connection: DuckDBPyConnection, columns: Sequence[tuple[str, str]]) -> None:
    """Add the mart's columns that kept rows lack.

    They are null, and the family that all of them played.
    """
    held = {name for (name,) in connection.sql("select column_name from (describe marts.episode_metrics)").fetchall()}
    for name, kind in columns:
        if name not in held:
            default = quoted(column_default(EpisodeRow.TABLE, name)) if name == "family" else "null"
            connection.execute(f'alter table marts.episode_metrics add column "{name}" {kind} default {default}')


def _plans_of(folder: Path) -> list[KeptPlan]:
    if plans := read_plans(folder):
        return plans
    raise WarehouseError(f"no results in {folder}: {PLANS} is missing; name a folder that `carryover keep` wrote")
