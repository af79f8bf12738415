"""Quarantine of damaged, foreign and abandoned files, with a reason."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from carryover.storage.errors import LandingError
from carryover.storage.zone.bundles import MANIFEST_FOLDER, BundleFile, Manifest, checksum
from carryover.storage.zone.files import FileStore, FoundFile
from carryover.storage.zone.landing import LandingZone, Manifests
from carryover.storage.zone.objects import OBJECTS_FOLDER
from carryover.storage.zone.schemas import duckdb_columns
from carryover.tasks.services.whole_files import TEMPORARY_SUFFIX
from carryover.tasks.traces.tables import TABLES

QUARANTINE_FOLDER = "quarantine"
"""Folder of a landing zone that holds the refused files, under the paths they had."""

_OWN_FILE = re.compile(
    r"(?P<folder>[a-z_]+)/run_id=[^/]+/(?P<bundle_id>\d{8}T\d{12}-[0-9a-f]{12})\.(?P<kind>parquet|json)"
)
_FOREIGN = "foreign: not a file that a landing zone writes"


class Refusal(NamedTuple):
    """A refused file; a refused manifest stands for its whole bundle."""

    path: str
    """Relative to the landing zone."""
    reason: str


def inspect_landing(
    files: Sequence[FoundFile], manifests: Manifests, merged: Collection[str], left_behind_before: datetime
) -> list[Refusal]:
    """Return files of no bundle: foreign ones, unreadable manifests, leftovers."""
    committed = {*merged, *(manifest.bundle_id for manifest in manifests.bundles)}
    refusals = [Refusal(path, reason) for path, reason in manifests.unreadable.items()]
    for file in files:
        is_elsewhere = file.path.startswith((f"{QUARANTINE_FOLDER}/", f"{OBJECTS_FOLDER}/"))
        if is_elsewhere or file.path in manifests.unreadable:
            continue
        is_old = file.modified_at is not None and file.modified_at < left_behind_before
        if reason := _why_homeless(file.path, committed, is_old=is_old):
            refusals.append(Refusal(file.path, reason))
    return refusals


def _why_homeless(path: str, committed: Collection[str], *, is_old: bool) -> str | None:
    """Return why a file belongs to no bundle.

    A young file may still get one.
    """
    if path.endswith(TEMPORARY_SUFFIX):
        if is_old:
            return "left behind by a writer that ended while writing it"
        return None
    name = _OWN_FILE.fullmatch(path)
    if name is None:
        return _FOREIGN
    is_manifest = name["kind"] == "json"
    if is_manifest != (name["folder"] == MANIFEST_FOLDER):
        return _FOREIGN
    if is_manifest or name["bundle_id"] in committed or not is_old:
        return None
    return "never committed: its writer ended before the manifest"


def inspect_bundles(
    bundles: Sequence[Manifest], files: Sequence[FoundFile], store: FileStore
) -> tuple[list[Manifest], list[Refusal]]:
    """Separate intact bundles from refused ones."""
    sizes = {file.path: file.byte_count for file in files}
    kept = []
    refusals = []
    for manifest in bundles:
        reason = _why_unfit(manifest, sizes) or _why_damaged(manifest, store)
        if reason:
            refusals.append(Refusal(manifest.path, reason))
            refusals += [Refusal(file.path, f"of the refused bundle {manifest.bundle_id}") for file in manifest.files]
        else:
            kept.append(manifest)
    return kept, refusals


def find_damage(landing: LandingZone) -> list[Refusal]:
    """Return the damaged manifests, and those of damaged files, with the reason.

    Reads every landed file.

    Nothing is moved: `merge` quarantines the damaged bundles that it has not merged.
    """
    manifests = landing.manifests()
    _, refusals = inspect_bundles(manifests.bundles, landing.store.find(), landing.store)
    return [
        *(Refusal(path, reason) for path, reason in manifests.unreadable.items()),
        *(refusal for refusal in refusals if refusal.path.startswith(f"{MANIFEST_FOLDER}/")),
    ]


def record_refusals(connection: DuckDBPyConnection, landing_url: str, refusals: Sequence[Refusal]) -> None:
    """Note refusals in the table `quarantine`, each once."""
    connection.execute(
        """
        insert into main.quarantine
        select $url, path, reason, $now
        from (select unnest($paths) as path, unnest($reasons) as reason)
        anti join main.quarantine as noted using (path, reason)
        """,
        {
            "paths": [refusal.path for refusal in refusals],
            "reasons": [refusal.reason for refusal in refusals],
            "url": landing_url,
            "now": datetime.now(UTC),
        },
    )


def quarantine_files(store: FileStore, refusals: Sequence[Refusal]) -> None:
    """Move refused files to the quarantine folder.

    Without its manifest a bundle does not count.
    """
    for refusal in refusals:
        store.move(refusal.path, f"{QUARANTINE_FOLDER}/{refusal.path}")


def _why_unfit(manifest: Manifest, sizes: dict[str, int]) -> str | None:
    for file in manifest.files:
        reason = _why_file_unfit(file, sizes)
        if reason is not None:
            return reason
    return None


def _why_file_unfit(file: BundleFile, sizes: dict[str, int]) -> str | None:
    """Return why a file cannot be read into its table.

    An unknown table or column, a lost size, or a missing key.
    """
    if file.table not in TABLES:
        return f"table {file.table!r} is unknown to this version; upgrade Carryover"
    if file.path not in sizes:
        return f"{file.path}: file missing"
    if sizes[file.path] != file.byte_count:
        return f"{file.path}: torn, {sizes[file.path]} bytes instead of {file.byte_count}"
    known = duckdb_columns(file.table)
    unknown = set(file.columns) - {column.name for column in known}
    if unknown:
        return f"{file.path}: column {min(unknown)!r} is unknown to this version; upgrade Carryover"
    missing = [column.name for column in known if not column.is_nullable and column.name not in file.columns]
    if missing:
        return f"{file.path}: key column {missing[0]!r} is missing; land its run again with this version"
    return None


def _why_damaged(manifest: Manifest, store: FileStore) -> str | None:
    try:
        contents = store.read_many([file.path for file in manifest.files])
    except LandingError as error:
        if not store.is_local:  # a bucket out of reach says nothing about the file
            raise
        return str(error)
    for file in manifest.files:
        if file.path not in contents:
            return f"{file.path}: file missing"
        if (found := checksum(contents[file.path])) != file.checksum:
            return f"{file.path}: damaged, checksum {found} instead of {file.checksum}"
    return None
