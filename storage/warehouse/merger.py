"""The merger: the only writer of the warehouse file."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb
from duckdb import DuckDBPyConnection

from carryover.storage.errors import StorageError, WarehouseBusyError, WarehouseError
from carryover.storage.warehouse.connection import failed_read, open_for_writing
from carryover.storage.warehouse.insertion import insert_bundles
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.readers_copy import copy_for_readers, has_current_copy
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import Refusal, inspect_bundles, inspect_landing, quarantine_files
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.services.whole_files import file_lock

GRACE = timedelta(hours=1)
"""Age from which files without a manifest count as left behind by a killed writer."""
TAKEN_NAMES = frozenset({"published", "staging", "marts", "increment"})
"""Names that a warehouse file cannot have before its suffix: DuckDB takes them for a database's, and for a schema's."""


_WRITE_ERRORS = (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException)
"""Errors of DuckDB on a file that it cannot write, also while it commits."""


class MergeReport(NamedTuple):
    """Report of a merge."""

    bundle_count: int
    """Bundles taken in."""
    row_counts: dict[str, int]
    """Rows inserted, by table."""
    refusals: tuple[Refusal, ...]
    """Files put into quarantine."""
    newer: tuple[Refusal, ...]
    """Manifests of bundles of a newer version, left in place."""
    insert_seconds: float
    """Until the rows were in the file; marts and the readers' copy come after."""
    seconds: float
    """The whole merge."""

    def left_out(self) -> list[str]:
        """Return a sentence per landed file that was not taken in: which, and why."""
        quarantined = [f"quarantined {refusal.path}: {refusal.reason}" for refusal in self.refusals]
        return quarantined + [f"not merged {bundle.path}: {bundle.reason}" for bundle in self.newer]


def merge(
    landing: LandingZone | str | Path,
    warehouse_path: str | Path,
    *,
    grace: timedelta = GRACE,
    open_bar: OpenBar = no_bar,
) -> MergeReport:
    """Insert new bundles, refresh the marts, replace the readers' copy.

    Merging the same landing zone again changes nothing. Torn and foreign files go to quarantine, with a row that says
    why, bundles of a newer version stay where they are, and the rest goes on. `open_bar` shows rows and marts as they
    come.

    Raises:
        WarehouseBusyError: Another process merges.
        WarehouseError: The file is no warehouse or cannot be written, or the landed rows do not fit it.
        UnreachableZoneError: Object storage did not answer.
    """
    started = time.monotonic()
    landing = landing if isinstance(landing, LandingZone) else LandingZone(landing)
    path = Path(warehouse_path)
    if path.stem in TAKEN_NAMES:
        raise WarehouseError(f"{path} has the name of a schema; choose another one, e.g. warehouse.duckdb")
    # The merger moves unknown files out of a landing zone, and would move its own.
    if landing.store.is_local and path.absolute().is_relative_to(Path(landing.store.root).absolute()):
        raise WarehouseError(f"{path} lies inside the landing zone {landing.url}; put the warehouse beside it")
    with owned(path):
        _create_if_absent(path)
        try:
            with closing(open_for_writing(path)) as connection:
                migrate(connection)
                if not landing.store.is_local:
                    connection.register_filesystem(landing.store.filesystem)
                report = _take_in(connection, landing, grace, open_bar)
                refresh_marts(connection, open_bar=open_bar)
                # Closing would do it too, but keep a full disk to itself and leave the rows beside the file.
                connection.execute("checkpoint")
        except duckdb.Error as error:
            raise _merge_error(error, landing, path) from error
        if not has_current_copy(path):
            copy_for_readers(path)
    return report._replace(seconds=time.monotonic() - started)


@contextmanager
def owned(warehouse_path: Path) -> Iterator[None]:
    """Own a warehouse file while the block runs.

    Raise `WarehouseBusyError` naming the process that owns it already.
    """
    path = lock_path(warehouse_path)
    with ExitStack() as stack:
        try:
            holder = stack.enter_context(file_lock(path))
        except OSError as error:
            raise WarehouseError(
                f"cannot write {path}: {error.strerror}; choose another place for the warehouse"
            ) from error
        if holder is not None:
            raise WarehouseBusyError(
                f"{warehouse_path} is being written by {holder}; wait for it, or stop it and try again"
            )
        yield


def lock_path(warehouse_path: Path) -> Path:
    """Return where the lock file of a warehouse lies.

    It stays once a merger has begun.
    """
    return warehouse_path.with_name(warehouse_path.name + ".lock")


def _create_if_absent(path: Path) -> None:
    """Create an empty warehouse, under its name only when it is whole.

    Readers get nothing before the first merge.
    """
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.new")
    for leftover in (draft, draft.with_name(f"{draft.name}.wal")):
        leftover.unlink(missing_ok=True)
    with closing(open_for_writing(draft)) as connection:
        migrate(connection)
        connection.execute("checkpoint")
    draft.replace(path)


def _merge_error(error: duckdb.Error, landing: LandingZone, path: Path) -> StorageError:
    """Return what failed in a merge, with the way out."""
    if unreached := failed_read(error, landing.url):
        return unreached
    said = " ".join(str(error).split())
    if isinstance(error, duckdb.OutOfMemoryException):
        return WarehouseError(f"cannot merge into {path}: {said}; free space beside it, where DuckDB spills to")
    names_landed_file = landing.store.location("") in said
    if isinstance(error, _WRITE_ERRORS) and not names_landed_file:
        return WarehouseError(f"cannot write {path}: {said}; free space there or make it writable, and merge again")
    way_out = "`carryover doctor --verify` names damaged files"
    return WarehouseError(f"cannot merge {landing.url} into {path}: {said}; {way_out}")


def _take_in(connection: DuckDBPyConnection, landing: LandingZone, grace: timedelta, open_bar: OpenBar) -> MergeReport:
    started = time.monotonic()
    merged = {row[0] for row in connection.sql("select bundle_id from main.merged_bundles").fetchall()}
    manifests = landing.manifests(known=merged)
    files = landing.store.find()
    strays = inspect_landing(files, manifests, merged, datetime.now(UTC) - grace)
    inspected = inspect_bundles(manifests, files, landing.store)
    refusals = [*strays, *inspected.unfit]
    row_counts = insert_bundles(connection, landing, inspected.intact, refusals, open_bar)
    # After the commit: a kill in between leaves the files where the next merge finds and moves them.
    quarantine_files(landing.store, refusals)
    return MergeReport(
        bundle_count=len(inspected.intact),
        row_counts=row_counts,
        refusals=tuple(refusals),
        newer=tuple(inspected.newer),
        insert_seconds=time.monotonic() - started,
        seconds=0.0,
    )
