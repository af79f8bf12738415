"""A table of a merged warehouse, scanned where it landed."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.errors import LandingError
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import inspect_bundles
from carryover.storage.zone.scans import scan_bundles


def landed_scan(
    connection: DuckDBPyConnection, table: str, storage_options: Mapping[str, Any] | None = None
) -> pl.LazyFrame | None:
    """Return a table's rows of the bundles that a warehouse holds, as a lazy frame over their files; none for none.

    Raise `LandingError` where the bundles do not all lie in one landing zone as they were landed.
    """
    merged = connection.sql("select bundle_id, landing_url from main.merged_bundles").fetchall()
    if not merged:
        return None
    bundle_ids, spellings = ({row[column] for row in merged} for column in (0, 1))
    urls = {LandingZone(spelling, storage_options).url for spelling in spellings}
    if len(urls) > 1:
        raise LandingError(f"it was merged from {len(urls)} landing zones, {', '.join(sorted(urls))}")
    zone = LandingZone(urls.pop(), storage_options)
    bundles = [manifest for manifest in zone.manifests().bundles if manifest.bundle_id in bundle_ids]
    if len(bundles) < len(bundle_ids):
        raise LandingError(f"{len(bundle_ids) - len(bundles)} of its {len(bundle_ids)} bundles are not in {zone.url}")
    _, refusals = inspect_bundles(bundles, zone.store.find(), zone.store)
    if refusals:
        raise LandingError(f"not all of its bundles are whole in {zone.url}: {refusals[0].reason}")
    return scan_bundles(zone.store, bundles, table)
