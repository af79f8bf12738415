"""The landing zone on a folder or on object storage."""

import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from carryover.storage.errors import LandingError
from carryover.storage.zone.bundles import (
    MANIFEST_FOLDER,
    BundledEpisode,
    BundleFile,
    Manifest,
    NewerManifestError,
    checksum,
    data_path,
    new_bundle_id,
)
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.scans import scan_bundles
from carryover.storage.zone.schemas import EPISODE_CHILDREN, nullable_schema, row_model, to_arrow
from carryover.tasks.traces.rows import EpisodeRow, Row
from carryover.tasks.traces.vocabulary import FinishReason

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Manifests(NamedTuple):
    """The manifests of a landing zone."""

    bundles: tuple[Manifest, ...]
    """Committed bundles, earliest first."""
    unreadable: dict[str, str]
    """Reason by path of each unreadable manifest."""
    newer: dict[str, str]
    """Reason by path of each intact manifest of a newer version."""


class LandingZone:
    """A folder or bucket of landed rows, to merge or read."""

    def __init__(self, url: str | Path, storage_options: Mapping[str, Any] | None = None) -> None:
        """Open a landing zone at a folder or fsspec URL.

        Nothing is created before the first write.
        """
        self.store = FileStore(url, storage_options)
        self._read_manifests: dict[str, Manifest] = {}

    @property
    def url(self) -> str:
        """Address of the landing zone."""
        return self.store.url

    def write(self, rows_by_table: Mapping[str, Sequence[Row]], run_id: str) -> Manifest:
        """Land rows of several tables as one bundle, atomically and durably.

        Raises:
            ValueError: The rows do not belong together: another run's, a step without its episode, a repeated key.
            LandingError: The rows cannot be written.
        """
        tables = {table: rows for table, rows in rows_by_table.items() if rows}
        if not tables:
            raise ValueError("no rows to land")
        _check_rows(tables, run_id)
        bundle_id = new_bundle_id(datetime.now(UTC))
        files: list[BundleFile] = []
        try:
            for table, rows in tables.items():
                sink = io.BytesIO()
                arrow = to_arrow(rows)
                path = data_path(table, run_id, bundle_id)
                pq.write_table(arrow, sink, compression="zstd")
                content = sink.getbuffer()
                self.store.write(path, content)
                file = BundleFile(
                    table=table,
                    path=path,
                    row_count=arrow.num_rows,
                    byte_count=content.nbytes,
                    checksum=checksum(content),
                    columns=tuple(arrow.column_names),
                )
                files.append(file)
            episodes = tuple(
                BundledEpisode(episode_id=row.episode_id, plan_digest=row.plan_digest, finish_reason=row.finish_reason)
                for row in tables.get(EpisodeRow.TABLE, ())
                if isinstance(row, EpisodeRow)
            )
            manifest = Manifest(bundle_id=bundle_id, run_id=run_id, files=tuple(files), episodes=episodes)
            self.store.write(manifest.path, manifest.to_json())
        except LandingError:
            with suppress(LandingError):  # what is left behind without a manifest counts for nothing
                for file in files:
                    self.store.remove(file.path)
            raise
        return manifest

    def manifests(self, known: Collection[str] = ()) -> Manifests:
        """Return the committed bundles, without those whose ids are `known`.

        Each manifest is read once per object.
        """
        committed = [Path(file.path) for file in self.store.find(MANIFEST_FOLDER) if file.path.endswith(".json")]
        paths = {path.stem: str(path) for path in committed if path.stem not in known}
        refused = self._read([path for bundle_id, path in paths.items() if bundle_id not in self._read_manifests])
        found = (self._read_manifests[bundle_id] for bundle_id in sorted(paths) if bundle_id in self._read_manifests)
        return refused._replace(bundles=tuple(found))

    def _read(self, paths: Sequence[str]) -> Manifests:
        """Read manifests; return why one cannot be read, by its path."""
        refused = Manifests((), {}, {})
        for path, content in self.store.read_many(paths).items():
            try:
                self._read_manifests[Path(path).stem] = Manifest.from_json(content)
            except NewerManifestError as error:
                refused.newer[path] = str(error)
            except ValidationError as error:
                refused.unreadable[path] = f"not a manifest: {error.errors()[0]['msg']}"
            except ValueError as error:
                refused.unreadable[path] = str(error)
        return refused

    def landed_episodes(self, plan_digest: str | None = None, run_id: str | None = None) -> dict[str, FinishReason]:
        """Return landed episodes' endings by id, from the manifests alone.

        Of one plan or run if given.
        """
        landed = {}
        for manifest in reversed(self.manifests().bundles):
            if run_id not in (None, manifest.run_id):
                continue
            for episode in manifest.episodes:
                if plan_digest in (None, episode.plan_digest):
                    landed[episode.episode_id] = episode.finish_reason
        return landed

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table's landed rows as a lazy frame, deduplicated.

        Until it is collected only manifests are read.
        """
        return scan_bundles(self.store, self.manifests().bundles, table)

    def read(self, table: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pa.Table:
        """Return a table's landed rows, each once, in the table's Arrow schema.

        Only `columns`, only those `where`.
        """
        frame = self.scan(table)
        if where is not None:
            frame = frame.filter(where)
        schema = nullable_schema(table)
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        return frame.select(schema.names).collect().to_arrow().cast(schema)


def _check_rows(tables: Mapping[str, Sequence[Row]], run_id: str) -> None:
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError(f"invalid run id {run_id!r}; use letters, digits, '.', '_' and '-'")
    for table, rows in tables.items():
        model = row_model(table)
        for row in rows:
            if type(row) is not model:
                raise ValueError(f"table {table!r} takes {model.__name__}, got {type(row).__name__}")
            if row.run_id != run_id:
                raise ValueError(f"a row of {table!r} belongs to run {row.run_id!r}, landed by run {run_id!r}")
        keys = set(map(attrgetter(*model.KEY), rows))
        if len(keys) < len(rows):
            raise ValueError(f"{len(rows) - len(keys)} rows of {table!r} repeat a key ({', '.join(model.KEY)})")
    present = _episode_ids(tables.get(EpisodeRow.TABLE, ()))
    for table in EPISODE_CHILDREN:
        if orphans := sorted(_episode_ids(tables.get(table, ())) - present):
            raise ValueError(f"rows of {table!r} without their episode {orphans[0]!r}; land them in one bundle")


def _episode_ids(rows: Iterable[Row]) -> set[str]:
    # Of every table of an episode, the key begins with the episode's id.
    return set(map(attrgetter(EpisodeRow.KEY[0]), rows))
