"""Identity of a data folder: results cached for another generation are stale."""

import secrets

from carryover.tasks.running.folders import Folders
from carryover.tasks.running.whole_files import write_whole

GENERATION_FILE = ".generation"
"""File in the data folder that tells it from another made later at the same place, or around another landing zone."""


def begin_generation(places: Folders) -> None:
    """Give the data folder a new identity."""
    write_whole(places.home / GENERATION_FILE, secrets.token_hex(8))


def read_generation(places: Folders) -> str:
    """Return the data folder's identity; one that has none gets one."""
    file = places.home / GENERATION_FILE
    if not file.exists():
        begin_generation(places)
    return file.read_text(encoding="utf-8")
