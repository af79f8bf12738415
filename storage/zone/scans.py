"""Lazy scans of landed Parquet, deduplicated, and of warehouse tables."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import polars as pl
import pyarrow.dataset as ds
from duckdb import DuckDBPyRelation
from duckdb.polars_io import duckdb_source

from carryover.storage.zone.bundles import BundleFile, Manifest, share_episodes
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.schemas import arrow_schema, column_default, nullable_schema, row_model
from carryover.storage.zone.sources import losing_plans
from carryover.tasks.traces.rows import EPISODE_TABLES, EpisodeRow
from carryover.tasks.traces.study_rows import ReusedEpisodeRow


def scan_bundles(store: FileStore, manifests: Sequence[Manifest], table: str) -> pl.LazyFrame:
    """Return a table's rows lazily, as a merge would hold them."""
    model = row_model(table)
    bundles = [manifest for manifest in manifests if manifest.file(table)]
    if bundles and model in EPISODE_TABLES:
        return _scan_episodes(store, manifests, table)
    frames = []
    if model is ReusedEpisodeRow:
        frames = [_unnoted_reuse(store, manifests)]
    if bundles:
        frames.append(_scan_files(store, table, bundles))
    if not frames:
        return _no_rows(table)
    kept = "last" if model.LATEST_WINS else "first"
    return pl.concat(frames).unique(subset=list(model.KEY), keep=kept, maintain_order=True)


def _no_rows(table: str) -> pl.LazyFrame:
    return pl.DataFrame(arrow_schema(table).empty_table()).lazy()


def _unnoted_reuse(store: FileStore, manifests: Sequence[Manifest]) -> pl.LazyFrame:
    """Return the reuse that no plan noted, as its execution lost to another's."""
    losing = pl.DataFrame(losing_plans(share_episodes(manifests)))
    if losing.is_empty():
        return _no_rows(ReusedEpisodeRow.TABLE)
    episodes = scan_bundles(store, manifests, EpisodeRow.TABLE)
    unnoted = losing.lazy().join(episodes, on=ReusedEpisodeRow.KEY, how="anti", maintain_order="left")
    return unnoted.select(arrow_schema(ReusedEpisodeRow.TABLE).names)


def _scan_episodes(store: FileStore, manifests: Sequence[Manifest], table: str) -> pl.LazyFrame:
    """Return rows of episodes, each from one bundle alone."""
    shares = [share for share in share_episodes(manifests) if share.manifest.file(table)]
    whole = [share.manifest for share in shares if not share.lost_episode_ids]
    frames = []
    if whole:
        frames = [_scan_files(store, table, whole)]
    for share in shares:
        if share.lost_episode_ids:
            is_lost = pl.col("episode_id").is_in(share.lost_episode_ids)
            frames.append(_scan_files(store, table, [share.manifest]).filter(~is_lost))
    return pl.concat(frames)


def scan_relation(begin: Callable[[], DuckDBPyRelation]) -> pl.LazyFrame:
    """Return a relation as a lazy frame that queries may reread.

    `begin` makes it each time.

    DuckDB pushes columns, filters and limits down, and holds no more than a batch of rows.
    """
    schema = begin().limit(0).pl().schema
    return duckdb_source(cast(DuckDBPyRelation, _FreshRelation(begin)), schema)


class _FreshRelation:
    """A relation made anew at every use.

    A DuckDB connection holds one open result at a time.
    """

    def __init__(self, begin: Callable[[], DuckDBPyRelation]) -> None:
        self._begin = begin

    def __getattr__(self, name: str) -> Any:
        return getattr(self._begin(), name)


def _scan_files(store: FileStore, table: str, bundles: Sequence[Manifest]) -> pl.LazyFrame:
    held = [manifest.file(table) for manifest in bundles]
    files = [file for file in held if file is not None]
    schema = nullable_schema(table)  # a column that came with a later version is null in older files
    if store.is_local:
        frame = pl.scan_parquet(
            [store.location(file.path) for file in files],
            schema=pl.DataFrame(schema.empty_table()).schema,
            glob=False,
            missing_columns="insert",
            hive_partitioning=False,
        )
    else:
        # Polars has readers of its own for some object stores; going through fsspec keeps one set of credentials.
        paths = [store.absolute(file.path) for file in files]
        frame = pl.scan_pyarrow_dataset(ds.dataset(paths, schema=schema, filesystem=store.filesystem, format="parquet"))
    return frame.with_columns(_defaults(table, files))


def _defaults(table: str, files: Sequence[BundleFile]) -> list[pl.Expr]:
    """Return columns that some files lack, filled with their defaults."""
    held = set.intersection(*(set(file.columns) for file in files))
    filled = []
    for name in nullable_schema(table).names:
        default = None if name in held else column_default(table, name)
        if default is not None:
            filled.append(pl.col(name).fill_null(default))
    return filled
