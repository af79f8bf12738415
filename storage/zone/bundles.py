"""Bundles: what one write lands, as a manifest that commits it, and which bundle an episode is taken from."""

import uuid
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from carryover.tasks.traces.rows import FinishReason

MANIFEST_FOLDER = "bundles"
"""Folder of the manifests, beside one folder per table."""


class BundleFile(BaseModel):
    """One Parquet file of a bundle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    path: str
    """Relative to the landing zone."""
    row_count: int
    byte_count: int
    schema_digest: str
    """Digest of the columns it was written with."""


class BundledEpisode(BaseModel):
    """An episode of a bundle: enough to know, without opening a Parquet file, what is done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode_id: str
    plan_digest: str
    finish_reason: FinishReason


class Manifest(BaseModel):
    """The commit of a bundle, written last: files without a manifest do not count."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    bundle_id: str
    """Sorts by the time of landing."""
    run_id: str
    files: tuple[BundleFile, ...]
    episodes: tuple[BundledEpisode, ...]

    @property
    def path(self) -> str:
        """Where the manifest lies in the landing zone."""
        return f"{MANIFEST_FOLDER}/run_id={self.run_id}/{self.bundle_id}.json"

    def file(self, table: str) -> BundleFile | None:
        """Return the bundle's file of a table, if it has one."""
        return next((file for file in self.files if file.table == table), None)


class Share(NamedTuple):
    """A bundle and the episodes of it that are taken from elsewhere."""

    manifest: Manifest
    lost_episode_ids: tuple[str, ...]


def new_bundle_id(now: datetime) -> str:
    """Return a name that no other writer chooses and that sorts by time."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}"


def data_path(table: str, run_id: str, bundle_id: str) -> str:
    """Return where a bundle's rows of a table lie in the landing zone."""
    return f"{table}/run_id={run_id}/{bundle_id}.parquet"


def share_episodes(manifests: Iterable[Manifest], taken: Collection[str] = ()) -> list[Share]:
    """Decide which bundle every episode is taken from: the earliest, unless it is `taken` before.

    An episode that ran twice, because its worker was killed after landing it, is in two bundles with different
    rows. All its rows come from one of them, so that two executions are never mixed.
    """
    seen = set(taken)
    shares = []
    for manifest in sorted(manifests, key=lambda manifest: manifest.bundle_id):
        episode_ids = [episode.episode_id for episode in manifest.episodes]
        shares.append(Share(manifest, tuple(sorted(seen.intersection(episode_ids)))))
        seen.update(episode_ids)
    return shares
