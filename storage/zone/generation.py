"""Identity of a data folder, or of a shared landing zone: results cached for another generation are stale."""

import secrets

from carryover.storage.zone.files import FileStore
from carryover.storage.zone.objects import OBJECTS_FOLDER
from carryover.tasks.running.folders import Folders

GENERATION_FILE = ".generation"
"""File in the data folder that tells it from another made later at the same place, or around another landing zone."""


def begin_generation(places: Folders) -> None:
    """Give the data folder, or the landing zone that it shares, a new identity."""
    store, name = _file(places)
    store.write(name, secrets.token_hex(8).encode())


def read_generation(places: Folders) -> str:
    """Return that identity; what has none gets one."""
    store, name = _file(places)
    if not store.has(name):
        begin_generation(places)
    return store.read(name).decode()


def _file(places: Folders) -> tuple[FileStore, str]:
    if places.is_shared:
        return FileStore(places.landing), f"{OBJECTS_FOLDER}/{GENERATION_FILE}"
    return FileStore(places.home), GENERATION_FILE
