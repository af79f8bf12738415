"""Families in files, as a user writes them."""

from collections.abc import Mapping
from pathlib import Path

from carryover.tasks.families.choose import open_own_family
from carryover.tasks.families.new import new_family
from carryover.tasks.families.own_family import OwnFamily


def written(folder: Path, changes: Mapping[str, str] | None = None) -> str:
    """Write the template's family into a folder, with texts replaced, and return its `FILE.py:CLASS`."""
    folder.mkdir(exist_ok=True)
    file, class_name = new_family("boxes", folder)
    text = file.read_text(encoding="utf-8")
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return f"{file}:{class_name}"


def opened(folder: Path, changes: Mapping[str, str] | None = None) -> OwnFamily:
    """Return a family written so."""
    return open_own_family(written(folder, changes))
