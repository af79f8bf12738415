"""Files stored by content, which workers share.

Where the landing zone lies in the data folder there is nothing to share, and nothing is copied.
"""

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from carryover.storage.errors import LandingError
from carryover.storage.zone.files import FileStore
from carryover.tasks.services.folders import Folders
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.whole_files import digest_of_file, written_whole

OBJECTS_FOLDER = "objects"
"""Folder of a landing zone that holds no rows."""
GENERATION_FILE = ".generation"
"""File that identifies the data folder, against one made later at the same place, or for another landing zone."""
SMALL_BYTES = 1 << 20
"""Size up to which a file is compared with what is kept."""


class KeptFolder(FrozenModel):
    """A folder that any worker can open.

    Small enough to be a task's result.
    """

    path: Path
    """Relative to the data folder, except for what lies outside it."""
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of its files by name, under which the landing zone has them; empty if workers share a data folder."""


def keep_folder(folders: Folders, folder: Path) -> KeptFolder:
    """Store a folder's visible files for other workers.

    Only files directly in the folder count.
    """
    if not folder.is_relative_to(folders.home):
        return KeptFolder(path=folder)
    named = {file.name: file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")}
    files = {}
    if folders.is_shared:
        files = {name: keep_file(folders, file) for name, file in named.items()}
    return KeptFolder(path=folder.relative_to(folders.home), files=files)


def open_folder(folders: Folders, kept: KeptFolder) -> Path:
    """Return a stored folder's local path, fetching missing files.

    Raise `LandingError` for a file that is not in the landing zone, or damaged.
    """
    folder = folders.home / kept.path
    files = {folder / name: digest for name, digest in kept.files.items()}
    # a model's card tells one training from the next, so nobody reads gigabytes of weights to compare them
    small = {file: digest for file, digest in files.items() if file.exists() and file.stat().st_size <= SMALL_BYTES}
    if any(digest_of_file(file) != digest for file, digest in small.items()):
        for file in files:
            file.unlink(missing_ok=True)
    fetch_files(folders, files)
    return folder


def find_folder(folders: Folders, kept: KeptFolder) -> Path | None:
    """Return where a kept folder lies here, as `open_folder`.

    None if it is gone, or others cannot fetch it.
    """
    folder = None
    if has_objects(folders, kept.files.values()):
        folder = open_folder(folders, kept)
    if folder is not None and folder.exists():
        return folder
    return None


def has_objects(folders: Folders, digests: Iterable[str]) -> bool:
    """Tell whether every worker finds files, by their digests."""
    store = FileStore(folders.landing)
    return not folders.is_shared or all(store.has(_object(digest)) for digest in digests)


def keep_file(folders: Folders, file: Path) -> str:
    """Return a file's digest, under which other workers find it."""
    digest = digest_of_file(file)
    if folders.is_shared:
        store = FileStore(folders.landing)
        if not store.has(_object(digest)):
            store.upload(file, _object(digest))
    return digest


def fetch_files(folders: Folders, files: Mapping[Path, str]) -> None:
    """Fetch missing files by their digests, each whole.

    Raise `LandingError` for one that is absent or damaged.
    """
    if not folders.is_shared:
        return
    store = FileStore(folders.landing)
    for file, digest in files.items():
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(file) as temporary:
                store.download(_object(digest), temporary)
                if digest_of_file(temporary) != digest:
                    raise LandingError(f"{store.absolute(_object(digest))} is damaged; remove it and refresh its stage")


def begin_generation(folders: Folders) -> None:
    """Give the data folder or shared landing zone a new identity.

    Results that are cached for another one are stale.
    """
    store, name = _generation_file(folders)
    store.write(name, secrets.token_hex(8).encode())


def read_generation(folders: Folders) -> str:
    """Return that identity; what has none gets one."""
    store, name = _generation_file(folders)
    if not store.has(name):
        begin_generation(folders)
    return store.read(name).decode()


def _object(digest: str) -> str:
    return f"{OBJECTS_FOLDER}/{digest}"


def _generation_file(folders: Folders) -> tuple[FileStore, str]:
    if folders.is_shared:
        return FileStore(folders.landing), f"{OBJECTS_FOLDER}/{GENERATION_FILE}"
    return FileStore(folders.home), GENERATION_FILE
