"""Insertion of bundles into the warehouse, in one transaction.

Table and column names in the statements come from the row models, never from data.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain

from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.connection import transaction
from carryover.storage.zone.bundles import Manifest, Share, share_episodes
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import Refusal, record_refusals
from carryover.storage.zone.schemas import arrow_schema, row_model
from carryover.storage.zone.sources import each_once, losing_plans, lost_episodes, table_source
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.traces.rows import EPISODE_TABLES
from carryover.tasks.traces.tables import TABLES


def insert_bundles(
    connection: DuckDBPyConnection,
    landing: LandingZone,
    bundles: Sequence[Manifest],
    refusals: Sequence[Refusal],
    open_bar: OpenBar = no_bar,
) -> dict[str, int]:
    """Insert bundles' new rows and note refusals, in one transaction.

    Return the number of rows by table, tables without new rows left out. `open_bar` shows the rows, a table at a time.
    """
    episodes = chain.from_iterable(manifest.episodes for manifest in bundles)
    landed = [episode.episode_id for episode in episodes]
    present = "select episode_id from main.episodes where episode_id in (select unnest($landed::varchar[]))"
    held = connection.execute(present, {"landed": landed}).fetchall()
    shares = share_episodes(bundles, {episode_id for (episode_id,) in held})
    row_counts = {table: _row_count(shares, table) for table in TABLES}
    counts: dict[str, int] = {}
    connection.register("lost_episodes", lost_episodes(shares))
    with transaction(connection), open_bar("merge", sum(row_counts.values()), "rows") as advance:
        for table, row_count in row_counts.items():
            if source := table_source(landing.store, table, shares):
                insert = _replace_older if row_model(table).LATEST_WINS else _insert_new
                counts[table] = insert(connection, table, source)
                advance(row_count, table)
        _note_reuse(connection, shares)
        _remember(connection, bundles, landing.url)
        record_refusals(connection, landing.url, refusals)
    connection.unregister("lost_episodes")
    return {table: count for table, count in counts.items() if count}


def _row_count(shares: Sequence[Share], table: str) -> int:
    files = [share.manifest.file(table) for share in shares]
    return sum(file.row_count for file in files if file is not None)


def _note_reuse(connection: DuckDBPyConnection, shares: Sequence[Share]) -> None:
    """Note each plan whose execution of an episode lost to another's.

    It reuses the execution that won.
    """
    connection.register("losing_plans", losing_plans(shares))
    connection.execute(
        """
        insert into main.reused_episodes (run_id, plan_digest, episode_id)
        from losing_plans
        anti join main.episodes using (plan_digest, episode_id)
        anti join main.reused_episodes using (plan_digest, episode_id)
        """
    )
    connection.unregister("losing_plans")


def _remember(connection: DuckDBPyConnection, bundles: Sequence[Manifest], landing_url: str) -> None:
    """Note the bundles as merged."""
    connection.execute(
        "insert into main.merged_bundles select unnest($ids), unnest($run_ids), $url, unnest($row_counts), $now",
        {
            "ids": [manifest.bundle_id for manifest in bundles],
            "run_ids": [manifest.run_id for manifest in bundles],
            "row_counts": [manifest.row_count for manifest in bundles],
            "url": landing_url,
            "now": datetime.now(UTC),
        },
    )


def _insert_new(connection: DuckDBPyConnection, table: str, source: str) -> int:
    columns = ", ".join(arrow_schema(table).names)
    model = row_model(table)
    rows = each_once(table, source)
    # Rows of episodes need no look at the warehouse: `share_episodes` gave each new episode to one bundle.
    if model not in EPISODE_TABLES:
        rows = f"from ({rows}) as landed anti join main.{table} as held using ({', '.join(model.KEY)})"
    return connection.execute(f"insert into main.{table} ({columns}) {rows}").fetchall()[0][0]


def _replace_older(connection: DuckDBPyConnection, table: str, source: str) -> int:
    """Replace rows by those of equal key that landed later.

    Return their number.
    """
    columns = ", ".join(arrow_schema(table).names)
    # Ids of bundles sort by the time of landing. The order of merges says nothing: zones may be merged late.
    row_key = f"[{', '.join(f'{column}::varchar' for column in row_model(table).KEY)}]"
    connection.execute(
        f"""
        create or replace temp table news as
        select landed.*, {row_key} as row_key
        from ({source}) as landed
        left join main.latest_bundles as held on held.table_name = '{table}' and held.row_key = {row_key}
        where held.bundle_id is null or held.bundle_id <= landed.bundle_id
        qualify row_number() over (partition by {row_key} order by landed.bundle_id desc) = 1
        """
    )
    connection.execute(f"delete from main.{table} where {row_key} in (select row_key from news)")
    connection.execute(
        f"delete from main.latest_bundles where table_name = '{table}' and row_key in (select row_key from news)"
    )
    connection.execute(f"insert into main.latest_bundles select '{table}', row_key, bundle_id from news")
    return connection.execute(f"insert into main.{table} ({columns}) select {columns} from news").fetchall()[0][0]
