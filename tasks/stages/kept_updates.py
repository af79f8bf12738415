"""Updates of reinforcements in kept results, for the table `reinforcement`.

They lie in `policy_updates.parquet` beside the episodes. A folder of a study that reinforces no model has no such file.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.stages.kept_files import insert_kept, kept_path, read_kept, write_kept
from carryover.tasks.traces.study_rows import PlanStageRow
from carryover.tasks.traces.training_rows import PolicyUpdateRow

_UPDATES = """
select distinct policy_updates.*
from main.policy_updates
inner join main.plan_stages
    on policy_updates.reinforcement_id = concat(plan_stages.name, '-', plan_stages.stage_digest)
where plan_stages.plan_digest in (select unnest($digests)) and plan_stages.stage = 'reinforcement'
"""


def keep_updates(warehouse: Warehouse, folder: Path, plan_digests: Sequence[str], *, target: Path) -> None:
    """Write a folder's updates and those of plans' reinforcements to `target`.

    A reinforcement of a name that the folder holds replaces its rows, also one from a model trained anew.
    """
    updates = warehouse.sql(_UPDATES, digests=list(plan_digests)).polars()
    if updates.is_empty():
        return
    path = kept_path(folder, PolicyUpdateRow.TABLE)
    if path.exists():
        name = pl.col("reinforcement_id").str.replace("-[^-]*$", "")  # without the stage's digest
        former = read_kept(path).join(updates, on=name, how="anti")
        updates = pl.concat([former, updates], how="diagonal")
    write_kept(updates.sort(PolicyUpdateRow.KEY), kept_path(target, PolicyUpdateRow.TABLE))


def insert_updates(connection: DuckDBPyConnection, folder: Path) -> None:
    """Insert the updates of a folder of results, if any, as those of its one plan."""
    path = kept_path(folder, PolicyUpdateRow.TABLE)
    if not path.exists():
        return
    insert_kept(connection, folder, PolicyUpdateRow.TABLE)
    reinforcements = read_kept(path)["reinforcement_id"].unique()
    connection.register("arrived", to_arrow([_stage_of(folder.name, each) for each in reinforcements]))
    connection.execute("insert into main.plan_stages by name select * from arrived")


def _stage_of(plan_digest: str, reinforcement_id: str) -> PlanStageRow:
    name, _, stage_digest = reinforcement_id.rpartition("-")
    return PlanStageRow(
        run_id=plan_digest,
        plan_digest=plan_digest,
        stage="reinforcement",
        name=name,
        stage_digest=stage_digest,
        result_json=None,
    )
