"""Refresh of the marts' rows: where few episodes are new, only these are measured.

A mart named `episode_...` holds rows per episode, which depend on that episode's rows, on its instance, on the other
episodes of a plan on that instance (which attempt is the last one) and on the plans that it belongs to.
The other marts are small: they summarise such marts and set statistics beside them, and are made anew.
"""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.connection import transaction
from carryover.storage.warehouse.mart_sources import MartSource
from carryover.tasks.services.progress import Advance, OpenBar, no_bar
from carryover.tasks.traces.rows import EPISODE_TABLES
from carryover.tasks.traces.tables import TABLES

LARGEST_SHARE = 0.5
"""Share of the episodes to be measured above which computing everything again costs no more."""

_FIND_STALE = """
create table increment.main.stale_episodes as
with stale_instances as (
    select plan_episodes.instance_id
    from {live}.staging.plan_episodes
    anti join {live}.marts.episode_metrics using (plan_digest, episode_id)
    union
    -- measured before their instance landed
    select episode_metrics.instance_id
    from {live}.marts.episode_metrics
    inner join {live}.main.episodes on episode_metrics.episode_id = episodes.episode_id
    inner join {live}.main.instances on episode_metrics.instance_id = instances.instance_id
    -- an imported count of 0 whose score is another is uncounted to the mart
    cross join lateral (
        select episodes.backend = 'imported' and episodes.score is distinct from 0 as is_zero_uncounted
    ) as readings
    where (
            episode_metrics.capacity_use is null
            and instances.capacity > 0
            and episodes.weight_taken is not null
            and not (is_zero_uncounted and episodes.weight_taken = 0)
        )
        or (
            episode_metrics.inspection_budget_use is null
            and instances.inspection_budget > 0
            and episodes.inspected_count is not null
            and not (is_zero_uncounted and episodes.inspected_count = 0)
        )
)
select episodes.episode_id
from {live}.main.episodes
semi join stale_instances using (instance_id)
"""


def measure_new_episodes(
    connection: DuckDBPyConnection, sources: Sequence[MartSource], open_bar: OpenBar = no_bar
) -> bool:
    """Measure new episodes and their dependants; `False` if measuring every episode is cheaper.

    The marts must have been made from the same sources before. Nothing changes where most episodes are new.
    """
    (name,) = connection.sql("select current_database()").fetchall()[0]
    live = f'"{name}"'
    connection.execute("attach ':memory:' as increment")
    try:
        connection.execute(_FIND_STALE.format(live=live))
        stale_count = _count_rows(connection, "increment.main.stale_episodes")
        if stale_count > LARGEST_SHARE * _count_rows(connection, f"{live}.main.episodes"):
            return False
        marts = [source for source in sources if source.schema == "marts"]
        measured = [mart for mart in marts if mart.name.startswith("episode_")] if stale_count else []
        summaries = [mart for mart in marts if not mart.name.startswith("episode_")]
        with open_bar("marts", len(measured) + len(summaries), "marts") as advance:
            if measured:
                _measure(connection, live, sources, measured, advance)
            connection.execute(f"use {live}")
            with transaction(connection):
                _replace_stale(connection, measured)
                _replace_rows(connection, summaries, advance)
    finally:
        connection.execute(f"use {live}")
        connection.execute("detach increment")
    return True


def measure_every_episode(
    connection: DuckDBPyConnection, sources: Sequence[MartSource], open_bar: OpenBar = no_bar
) -> None:
    """Compute every row of the marts anew.

    The marts must have been made from the same sources before.
    """
    marts = [source for source in sources if source.schema == "marts"]
    with open_bar("marts", len(marts), "marts") as advance, transaction(connection):
        _replace_rows(connection, marts, advance)


def _count_rows(connection: DuckDBPyConnection, table: str) -> int:
    return connection.sql(f"select count(*) from {table}").fetchall()[0][0]


def _replace_stale(connection: DuckDBPyConnection, marts: Sequence[MartSource]) -> None:
    for mart in marts:
        stale = "episode_id in (from increment.main.stale_episodes)"
        connection.execute(f'delete from marts."{mart.name}" where {stale}')
        connection.execute(f'insert into marts."{mart.name}" by name from increment.marts."{mart.name}"')


def _replace_rows(connection: DuckDBPyConnection, marts: Sequence[MartSource], advance: Advance) -> None:
    """Replace the rows and not the table, which would lose its comments."""
    for mart in marts:
        connection.execute(f'delete from marts."{mart.name}"')
        connection.execute(f'insert into marts."{mart.name}" by name {mart.statement}')
        advance(1, mart.name)


def _measure(
    connection: DuckDBPyConnection,
    live: str,
    sources: Sequence[MartSource],
    marts: Sequence[MartSource],
    advance: Advance,
) -> None:
    """Compute the stale episodes' rows in the database `increment`."""
    connection.execute("use increment")
    for table, model in TABLES.items():
        only_stale = "semi join increment.main.stale_episodes using (episode_id)" if model in EPISODE_TABLES else ""
        connection.execute(f"create view increment.main.{table} as from {live}.main.{table} {only_stale}")
    # The files name `main`, `published`, `staging` and `marts`: here they see the few episodes of `increment` only.
    for schema in ("published", "staging", "marts"):
        connection.execute(f"create schema increment.{schema}")
    for source in sources:
        if source.schema == "published":
            connection.execute(f'create view {source.relation} as from {live}.published."{source.name}"')
        elif source.schema in ("macros", "staging"):
            connection.execute(source.creation("view"))
    for mart in marts:
        connection.execute(f'create table marts."{mart.name}" as {mart.statement}')
        advance(1, mart.name)
