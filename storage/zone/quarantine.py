"""Quarantine of damaged, foreign and abandoned files, with a reason.

Intact bundles of a newer version stay where they are: a merge by that version takes them in.
"""

import itertools
import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from carryover.storage.errors import LandingError
from carryover.storage.zone.bundles import MANIFEST_FOLDER, Manifest, checksum
from carryover.storage.zone.files import FileStore, FoundFile
from carryover.storage.zone.landing import LandingZone, Manifests
from carryover.storage.zone.objects import OBJECTS_FOLDER
from carryover.storage.zone.schemas import duckdb_columns
from carryover.tasks.services.whole_files import TEMPORARY_SUFFIX
from carryover.tasks.traces.tables import TABLES

QUARANTINE_FOLDER = "quarantine"
"""Folder of a landing zone that holds the refused files, under the paths they had.

A path that is taken gets a number.
"""

_OWN_FILE = re.compile(
    r"(?P<folder>[a-z_]+)/run_id=[^/]+/(?P<bundle_id>\d{8}T\d{12}-[0-9a-f]{12})\.(?P<kind>parquet|json)"
)
_FOREIGN = "foreign: not a file that a landing zone writes"


class Refusal(NamedTuple):
    """A refused file; a refused manifest stands for its whole bundle."""

    path: str
    """Relative to the landing zone."""
    reason: str


class InspectedBundles(NamedTuple):
    """Bundles by what a merge does with them."""

    intact: list[Manifest]
    """To be taken in."""
    newer: list[Refusal]
    """Written by a newer version, left in place for it."""
    unfit: list[Refusal]
    """To be quarantined, with their files."""


def inspect_landing(
    files: Sequence[FoundFile], manifests: Manifests, merged: Collection[str], left_behind_before: datetime
) -> list[Refusal]:
    """Return files of no bundle: foreign ones, unreadable manifests, leftovers."""
    newer = {PurePosixPath(path).stem for path in manifests.newer}
    committed = {*merged, *newer, *(manifest.bundle_id for manifest in manifests.bundles)}
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


def inspect_bundles(manifests: Manifests, files: Sequence[FoundFile], store: FileStore) -> InspectedBundles:
    """Separate intact bundles from unfit ones and from those of a newer version.

    The files of a newer one are not read.
    """
    sizes = {file.path: file.byte_count for file in files}
    intact = []
    newer = [Refusal(path, reason) for path, reason in manifests.newer.items()]
    unfit = []
    for manifest in manifests.bundles:
        torn = _why_torn(manifest, sizes)
        unknown = _why_newer(manifest)
        if unknown and not torn:
            newer.append(Refusal(manifest.path, unknown))
            continue
        reason = torn or _why_keyless(manifest) or _why_damaged(manifest, store)
        if reason is None:
            intact.append(manifest)
            continue
        unfit.append(Refusal(manifest.path, reason))
        unfit += [Refusal(file.path, f"of the refused bundle {manifest.bundle_id}") for file in manifest.files]
    return InspectedBundles(intact, newer, unfit)


def find_newer(manifests: Manifests) -> list[Refusal]:
    """Return the manifests that only a newer version can merge, with the reason."""
    newer = [Refusal(path, reason) for path, reason in manifests.newer.items()]
    for manifest in manifests.bundles:
        if reason := _why_newer(manifest):
            newer.append(Refusal(manifest.path, reason))
    return newer


def find_damage(landing: LandingZone) -> list[Refusal]:
    """Return the damaged manifests, and those of damaged files, with the reason.

    Reads every landed file.

    Nothing is moved: `merge` quarantines the damaged bundles that it has not merged.
    """
    manifests = landing.manifests()
    sizes = {file.path: file.byte_count for file in landing.store.find()}
    damaged = [Refusal(path, reason) for path, reason in manifests.unreadable.items()]
    for manifest in manifests.bundles:
        reason = _why_torn(manifest, sizes) or _why_damaged(manifest, landing.store)
        if reason is None and not _why_newer(manifest):
            reason = _why_keyless(manifest)
        if reason:
            damaged.append(Refusal(manifest.path, reason))
    return damaged


def record_refusals(connection: DuckDBPyConnection, landing_url: str, refusals: Sequence[Refusal]) -> None:
    """Note refusals in the table `quarantine`, each once."""
    connection.execute(
        """
        insert into main.quarantine
        select landing_url, path, reason, $now
        from (select $url as landing_url, unnest($paths) as path, unnest($reasons) as reason)
        anti join main.quarantine as noted using (landing_url, path, reason)
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
        store.move(refusal.path, _free_place(store, refusal.path))


def _free_place(store: FileStore, path: str) -> str:
    """Return where a file goes, beside an earlier one of its name."""
    place = f"{QUARANTINE_FOLDER}/{path}"
    numbered = (f"{place}.{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([place], numbered) if not store.has(name))


def _why_torn(manifest: Manifest, sizes: dict[str, int]) -> str | None:
    """Return which file of a bundle is missing or has another size."""
    for file in manifest.files:
        if file.path not in sizes:
            return f"{file.path}: file missing"
        if sizes[file.path] != file.byte_count:
            return f"{file.path}: torn, {sizes[file.path]} bytes instead of {file.byte_count}"
    return None


def _why_newer(manifest: Manifest) -> str | None:
    """Return which table or column of a bundle this version does not know."""
    for file in manifest.files:
        if file.table not in TABLES:
            return f"table {file.table!r} is unknown to this version; upgrade Carryover"
        unknown = set(file.columns) - {column.name for column in duckdb_columns(file.table)}
        if unknown:
            return f"{file.path}: column {min(unknown)!r} is unknown to this version; upgrade Carryover"
    return None


def _why_keyless(manifest: Manifest) -> str | None:
    """Return which key's column a bundle lacks."""
    for file in manifest.files:
        keys = [column.name for column in duckdb_columns(file.table) if not column.is_nullable]
        missing = [name for name in keys if name not in file.columns]
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
