"""SQL over bundles' Parquet files, also of older columns."""

from collections import defaultdict
from collections.abc import Collection, Sequence

import pyarrow as pa

from carryover.storage.sql_text import quoted_path
from carryover.storage.zone.bundles import BundleFile, Share
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.schemas import arrow_schema, default_literal, duckdb_columns, row_model
from carryover.tasks.traces.rows import EPISODE_TABLES


def table_source(store: FileStore, table: str, shares: Sequence[Share]) -> str | None:
    """Return a query for a table's rows in the bundles.

    `None` without files.

    A row of an episode that is taken from elsewhere is left out by a table `lost_episodes` (bundle_id, episode_id),
    which the connection must hold.
    """
    has_episodes = "episode_id" in row_model(table).model_fields
    pieces: dict[tuple[frozenset[str], bool], list[BundleFile]] = defaultdict(list)
    for share in shares:
        if file := share.manifest.file(table):
            pieces[frozenset(file.columns), has_episodes and bool(share.lost_episode_ids)].append(file)
    queries = (_select(store, table, files, held, is_contested) for (held, is_contested), files in pieces.items())
    return "\nunion all\n".join(queries) or None


def each_once(table: str, source: str) -> str:
    """Return a query for a source's rows, deduplicated by key.

    The first or the latest row wins; `bundle_id` is left out.
    """
    columns = ", ".join(arrow_schema(table).names)
    model = row_model(table)
    if model in EPISODE_TABLES:
        return f"select {columns} from ({source})"
    order = "desc" if model.LATEST_WINS else "asc"
    return f"""
select {columns} from ({source})
qualify row_number() over (partition by {", ".join(model.KEY)} order by bundle_id {order}) = 1"""


def lost_episodes(shares: Sequence[Share]) -> pa.Table:
    """Return the bundles' episodes whose rows come from another bundle."""
    lost = []
    for share in shares:
        lost += [(share.manifest.bundle_id, episode_id) for episode_id in share.lost_episode_ids]
    return _text_table(("bundle_id", "episode_id"), lost)


def losing_plans(shares: Sequence[Share]) -> pa.Table:
    """Return the plans whose execution comes from another bundle.

    Two studies that land an episode at the same time do not see each other's; only a reader of both bundles can choose.
    """
    runs: dict[tuple[str, str], str] = {}
    for share in shares:
        lost = frozenset(share.lost_episode_ids)
        for episode in share.manifest.episodes:
            if episode.episode_id in lost:
                runs[episode.plan_digest, episode.episode_id] = share.manifest.run_id
    return _text_table(("run_id", "plan_digest", "episode_id"), [(run_id, *place) for place, run_id in runs.items()])


def _text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> pa.Table:
    """Return rows as a table of text, with columns even if empty."""
    texts = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pa.table([pa.array(column, pa.string()) for column in texts], names=list(columns))


def _select(
    store: FileStore, table: str, files: Sequence[BundleFile], held: Collection[str], has_lost_episodes: bool
) -> str:
    """Return a query for rows of files with the same columns.

    The table's others have their defaults.
    """
    selected = []
    for name, duckdb_type, _ in duckdb_columns(table):
        is_held = name in held
        selected.append(name if is_held else f"{default_literal(table, name)}::{duckdb_type} as {name}")
    columns = ", ".join(selected)
    paths = ", ".join(quoted_path(store.location(file.path)) for file in files)
    query = (
        f"select {columns}, parse_filename(filename, true) as bundle_id\n"
        f"from read_parquet([{paths}], filename = true, hive_partitioning = false) as landed"
    )
    if not has_lost_episodes:
        return query
    return f"""{query}
where not exists (
    select 1 from lost_episodes
    where lost_episodes.episode_id = landed.episode_id
    and lost_episodes.bundle_id = parse_filename(landed.filename, true)
)"""
