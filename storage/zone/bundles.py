"""Bundles: the files of one write, committed by a manifest."""

import json
import uuid
import zlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Self

from pydantic import ValidationError

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import FinishReason

MANIFEST_FOLDER = "bundles"
"""Folder of the manifests, beside one folder per table."""


class BundleFile(FrozenModel):
    """One Parquet file of a bundle."""

    table: str
    path: str
    """Relative to the landing zone."""
    row_count: int
    byte_count: int
    checksum: str
    """CRC-32 of the content, in hexadecimal."""
    columns: tuple[str, ...]
    """Columns that it was written with."""


class BundledEpisode(FrozenModel):
    """An episode of a bundle, known without opening a Parquet file."""

    episode_id: str
    plan_digest: str
    finish_reason: FinishReason


class NewerManifestError(ValueError):
    """An intact manifest that another version of Carryover wrote."""


class Manifest(FrozenModel):
    """The commit of a bundle, written last; files without one don't count."""

    format_version: Literal[1] = 1
    bundle_id: str
    """Sorts by the time of landing."""
    run_id: str
    files: tuple[BundleFile, ...]
    episodes: tuple[BundledEpisode, ...]
    checksum: str = ""
    """CRC-32 of the other fields as JSON."""

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Return the manifest of a file's content.

        Raise `NewerManifestError` for an intact one of another format, and `ValueError` for a damaged one.
        """
        try:
            manifest = cls.model_validate_json(content)
        except ValidationError as error:
            if _is_intact(content):
                raise NewerManifestError("manifest of a newer version; upgrade Carryover") from error
            raise
        if manifest.checksum != manifest._own_checksum():
            raise ValueError(f"damaged: checksum {manifest._own_checksum()} instead of {manifest.checksum}")
        return manifest

    def to_json(self) -> bytes:
        """Return the content of the manifest's file, checksum included."""
        return self.model_copy(update={"checksum": self._own_checksum()}).model_dump_json().encode()

    def _own_checksum(self) -> str:
        return checksum(self.model_dump_json(exclude={"checksum"}).encode())

    @property
    def path(self) -> str:
        """Path of the manifest in the landing zone."""
        return manifest_path(self.run_id, self.bundle_id)

    @property
    def row_count(self) -> int:
        """Rows of all tables."""
        return sum(file.row_count for file in self.files)

    def file(self, table: str) -> BundleFile | None:
        """Return the bundle's file of a table, if it has one."""
        return next((file for file in self.files if file.table == table), None)


class Share(NamedTuple):
    """A bundle and the episodes of it that are taken from elsewhere."""

    manifest: Manifest
    lost_episode_ids: tuple[str, ...]


def checksum(content: bytes | memoryview) -> str:
    """Return the CRC-32 of a content.

    It is fast enough for every merge, and differs for every single flipped bit.
    """
    return f"{zlib.crc32(content):08x}"


def _is_intact(content: bytes) -> bool:
    """Tell whether a manifest of any format has the checksum that it states."""
    try:
        fields = json.loads(content)
        stated = fields.pop("checksum")
        others = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, AttributeError, KeyError, TypeError):
        return False
    return stated == checksum(others)


def new_bundle_id(now: datetime) -> str:
    """Return a unique name that sorts by time."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:12]}"


def manifest_path(run_id: str, bundle_id: str) -> str:
    """Return where a bundle's manifest lies in the landing zone."""
    return f"{MANIFEST_FOLDER}/run_id={run_id}/{bundle_id}.json"


def data_path(table: str, run_id: str, bundle_id: str) -> str:
    """Return the path of a bundle's rows of a table."""
    return f"{table}/run_id={run_id}/{bundle_id}.parquet"


def share_episodes(manifests: Iterable[Manifest], taken: Collection[str] = ()) -> list[Share]:
    """Decide every episode's bundle: the earliest, unless it is `taken` before.

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
