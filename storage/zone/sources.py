"""SQL over the Parquet files of bundles: the rows of a table as DuckDB reads them, whichever version landed them."""

import io
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from carryover.storage.errors import LandingError
from carryover.storage.warehouse.connection import quoted
from carryover.storage.warehouse.migrations import value_of_older_rows
from carryover.storage.zone.bundles import BundleFile, Share
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.landing import schema_digest
from carryover.storage.zone.schemas import EPISODE_CHILDREN, Column, arrow_schema, duckdb_columns, row_model
from carryover.tasks.traces.rows import EpisodeRow


class _Piece(NamedTuple):
    files: list[BundleFile]
    columns: frozenset[str]
    """Columns that the files hold."""
    has_lost_episodes: bool


def table_source(store: FileStore, table: str, shares: Sequence[Share]) -> str | None:
    """Return a query for a table's rows in the shares' bundles, with `bundle_id` as last column; none for no files.

    A row of an episode that is taken from elsewhere is left out by a table `lost_episodes` (bundle_id, episode_id),
    which the connection must hold.
    """
    pieces = _pieces(store, table, shares)
    return "\nunion all\n".join(_select(store, table, piece) for piece in pieces) if pieces else None


def each_once(table: str, source: str) -> str:
    """Return a query for the rows of a source without `bundle_id`, of one key the row landed first (or latest)."""
    columns = ", ".join(arrow_schema(table).names)
    model = row_model(table)
    if table == EpisodeRow.TABLE or table in EPISODE_CHILDREN:
        return f"select {columns} from ({source})"
    order = "desc" if model.LATEST_WINS else "asc"
    return f"""
select {columns} from ({source})
qualify row_number() over (partition by {", ".join(model.KEY)} order by bundle_id {order}) = 1"""


def lost_episodes(shares: Sequence[Share]) -> pa.Table:
    """Return the episodes that a share's bundle holds but that are taken from elsewhere."""
    lost = [(share.manifest.bundle_id, episode_id) for share in shares for episode_id in share.lost_episode_ids]
    return pa.table(
        {
            "bundle_id": pa.array([bundle_id for bundle_id, _ in lost], pa.string()),
            "episode_id": pa.array([episode_id for _, episode_id in lost], pa.string()),
        }
    )


def why_unfit(file: BundleFile, store: FileStore) -> str | None:
    """Return why a file's columns do not fit the present schema, from its footer where another version wrote it."""
    if file.schema_digest == schema_digest(arrow_schema(file.table)):
        return None
    try:
        present = _footer_columns(file, store)
    except (pa.ArrowException, OSError) as error:
        return f"not readable as Parquet: {error}"
    except LandingError as error:
        return _damage(error, store)
    known = duckdb_columns(file.table)
    if unknown := sorted(present - {column.name for column in known}):
        return f"column {unknown[0]!r} of {file.table!r} is unknown to this version; upgrade Carryover"
    if missing := [column.name for column in known if not column.is_nullable and column.name not in present]:
        return f"column {missing[0]!r} of {file.table!r} is missing; an older version landed it"
    return None


def why_torn(file: BundleFile, store: FileStore) -> str | None:
    """Return why a file is not what its manifest says, read to its last row; none if it is."""
    try:
        table = pq.read_table(io.BytesIO(store.read(file.path)))
    except FileNotFoundError:
        return "file missing"
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"not readable as Parquet: {error}"
    except LandingError as error:
        return _damage(error, store)
    if table.num_rows != file.row_count:
        return f"{table.num_rows} rows instead of {file.row_count}"
    if file.schema_digest == schema_digest(schema := arrow_schema(file.table)):
        try:
            table.cast(schema)
        except (pa.ArrowException, ValueError) as error:
            return f"its columns are not those that its manifest says: {error}"
    return None


def _damage(error: LandingError, store: FileStore) -> str:
    """Return what is wrong with a file of a disk that cannot read it; raise on what says nothing about the file.

    A bucket may be out of reach, or refuse who asks.
    """
    if not store.is_local:
        raise error
    return str(error)


def _pieces(store: FileStore, table: str, shares: Sequence[Share]) -> list[_Piece]:
    current = schema_digest(arrow_schema(table))
    all_columns = frozenset(arrow_schema(table).names)
    has_episodes = "episode_id" in row_model(table).model_fields
    pieces: dict[tuple[frozenset[str], bool], list[BundleFile]] = defaultdict(list)
    for share in shares:
        if file := share.manifest.file(table):
            columns = all_columns if file.schema_digest == current else frozenset(_footer_columns(file, store))
            pieces[columns, has_episodes and bool(share.lost_episode_ids)].append(file)
    return [_Piece(files, columns, is_contested) for (columns, is_contested), files in pieces.items()]


def _select(store: FileStore, table: str, piece: _Piece) -> str:
    columns = ", ".join(
        column.name if column.name in piece.columns else _missing(table, column) for column in duckdb_columns(table)
    )
    paths = ", ".join(quoted(store.location(file.path)) for file in piece.files)
    query = (
        f"select {columns}, parse_filename(filename, true) as bundle_id\n"
        f"from read_parquet([{paths}], filename = true, hive_partitioning = false) as landed"
    )
    if not piece.has_lost_episodes:
        return query
    return f"""{query}
where not exists (
    select 1 from lost_episodes
    where lost_episodes.episode_id = landed.episode_id
    and lost_episodes.bundle_id = parse_filename(landed.filename, true)
)"""


def _missing(table: str, column: Column) -> str:
    value = value_of_older_rows(table, column.name) or "null"
    return f"({value})::{column.duckdb_type} as {column.name}"


def _footer_columns(file: BundleFile, store: FileStore) -> set[str]:
    return set(pq.read_schema(io.BytesIO(store.read_footer(file.path))).names)
