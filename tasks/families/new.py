"""A new family's file, to be changed."""

import re
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.services.errors import UserError

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class NewFamily(NamedTuple):
    """A file that was written, and the class in it."""

    file: Path
    class_name: str


def new_family(name: str, folder: Path) -> NewFamily:
    """Write `NAME.py` with a family that runs.

    Raise `UserError` for a name that is no module's, and where the file exists.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"invalid name {name!r}: use lower case letters, digits and underscores, e.g. log_triage")
    file = folder / f"{name}.py"
    if file.exists():
        raise UserError(f"{file} exists; choose another name")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    template = (files("carryover.tasks.families") / "family.py.jinja").read_text(encoding="utf-8")
    file.write_text(template.replace("{{ class_name }}", class_name).replace("{{ file }}", file.name), encoding="utf-8")
    return NewFamily(file, class_name)
