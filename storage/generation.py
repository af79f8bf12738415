"""Identity of a data folder: what was cached of rows that have gone since counts no more."""

import secrets

from tasks.running.places import Folders

GENERATION_FILE = ".generation"
"""File in the data folder that tells it from another made later at the same place, or around another landing zone."""


def begin_generation(places: Folders) -> None:
    """Give the data folder a new identity."""
    file = places.home / GENERATION_FILE
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(3)}")
    unfinished.write_text(secrets.token_hex(8), encoding="utf-8")
    unfinished.replace(file)


def read_generation(places: Folders) -> str:
    """Return the data folder's identity; one that has none gets one."""
    file = places.home / GENERATION_FILE
    if not file.exists():
        begin_generation(places)
    return file.read_text(encoding="utf-8")
