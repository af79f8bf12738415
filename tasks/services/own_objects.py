"""Objects of the user's own modules and files."""

import hashlib
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import NamedTuple

from pydantic import ValidationError

from carryover.tasks.services.errors import UserError


class WantedKind(NamedTuple):
    """What a file's objects must be, to be offered in place of a wrong name."""

    words: str
    """What a file lacks, e.g. `no family and no contract`."""
    holds: Callable[[object, ModuleType], bool]
    """Whether an object of a module is one."""


def import_object(wanted: str, kind: WantedKind) -> object:
    """Return the object of `MODULE:NAME` or `FILE.py:NAME`.

    Modules are found in the working directory too. Raise `UserError` where it cannot be imported. A `ValidationError`
    of the user's own passes, so that the caller can name its field, and so does what else a module raises.
    """
    place, colon, name = wanted.rpartition(":")
    if not colon:
        place = wanted
        name = ""
    try:
        if place.endswith(".py"):
            return _of_file(place, name, kind)
        _find_in_working_directory()
        return resolve_name(wanted)
    except ValidationError:  # a ValueError too
        raise
    except (ImportError, AttributeError, OSError, SyntaxError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"cannot import {wanted!r}: {said}; name MODULE:NAME or FILE.py:NAME") from error


def _of_file(place: str, name: str, kind: WantedKind) -> object:
    """Return a file's object, or raise `UserError` naming those of the wanted kind."""
    module = _load_file(Path(place))
    if name and hasattr(module, name):
        return getattr(module, name)
    offered = [f"{place}:{other}" for other, value in vars(module).items() if kind.holds(value, module)]
    if not offered:
        raise UserError(f"no {name!r} in {place}, which defines {kind.words}")
    raise UserError(f"no {name!r} in {place}; choose from {', '.join(offered)}")


def _load_file(file: Path) -> ModuleType:
    """Return a file's module, under a name that no other module has."""
    name = f"carryover_own_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}_{file.stem}"
    spec = spec_from_file_location(name, file)
    assert spec is not None, "a file that ends with .py has a loader"
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look it up
    spec.loader.exec_module(module)
    return module


def _find_in_working_directory() -> None:
    """Let modules of the working directory be imported.

    After all others: a user's `statistics.py` shadows none.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
