"""The family that a name or a class means."""

import hashlib
import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Protocol

from carryover.tasks.agent import family as machine
from carryover.tasks.families.family import Family
from carryover.tasks.families.own_family import OwnFamily
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.own_objects import WantedKind, import_object
from carryover.tasks.services.source_digest import source_digest
from carryover.tasks.traces.rows import InstanceRow, ItemRow
from carryover.tasks.traces.vocabulary import PAPER_FAMILY, Split

SHIPPED: dict[str, str] = {
    "cave_data_intensive": "cave_suites.family:CaveDataIntensive",
    "cave_data_sizes": "cave_suites.family:CaveDataSizes",
    "cave_long_horizon": "cave_suites.family:CaveLongHorizon",
    "cave_multi_variable": "cave_suites.family:CaveMultiVariable",
    "cave_printed": "cave_suites.family:CavePrinted",
    "cave_token_efficiency": "cave_suites.family:CaveTokenEfficiency",
    "cave_types": "cave_suites.family:CaveTypes",
    "log_triage": "log_triage.family:LogTriage",
    "map_exploration": "map_exploration.family:MapExploration",
}
"""Families of this package, apart from the knapsack: module and class by name."""

_PLAYING = tuple(f"{__package__}.{name}" for name in ("family", "own_family", "problem", "teacher"))


class StudyFamily(machine.Family, Protocol):
    """A family with what a study needs beyond an episode."""

    def sample(self, bucket: str, seed: int) -> Any:
        """Return the instance of a seed; raise `UserError` where there is none."""
        ...

    def validate(self, instance: Any) -> None:
        """Raise `UserError` unless the reference solution scores 1."""
        ...

    def rows(self, instance: Any, run_id: str, split: Split) -> tuple[InstanceRow, list[ItemRow]]:
        """Return an instance as rows of the warehouse."""
        ...

    def instance_of_row(self, row: Mapping[str, Any]) -> Any:
        """Return the instance of a row of the warehouse."""
        ...


def choose_family(wanted: str) -> StudyFamily:
    """Return a family by name, or of `MODULE:CLASS`.

    Raise `UserError` as `open_own_family`.
    """
    if wanted == PAPER_FAMILY:
        return KNAPSACK_FAMILY
    return open_own_family(wanted)


@cache
def open_own_family(wanted: str) -> OwnFamily:
    """Return a family of one's own, by name or by class.

    Modules are found in the working directory too. Raise `UserError` where there is no such class.
    """
    if wanted in SHIPPED:
        return OwnFamily(wanted, resolve_name(f"{__package__}.{SHIPPED[wanted]}")())
    place, _, name = wanted.partition(":")
    if not name and not place.endswith(".py"):
        names = ", ".join((PAPER_FAMILY, *SHIPPED))
        raise UserError(f"unknown family {wanted!r}; choose from {names}, or name MODULE:CLASS")
    found = import_object(wanted, FAMILY_OR_CONTRACT)
    if not (inspect.isclass(found) and issubclass(found, Family)):
        raise UserError(f"{wanted!r} is no subclass of carryover.Family; `carryover family new NAME` writes one")
    try:
        return OwnFamily(_name(found), found())
    except TypeError as error:  # an abstract method is missing, or a constructor wants arguments
        raise UserError(f"cannot make {wanted!r}: {error}") from error


def family_source(wanted: str) -> str | None:
    """Return the digest of a family's source; None for the knapsack.

    It is that of the class's file, of a shipped family all files of its folder, and of what plays families here.
    """
    if wanted == PAPER_FAMILY:
        return None
    name = inspect.getsourcefile(type(open_own_family(wanted).family))
    assert name is not None  # its class was imported from a file
    file = Path(name)
    of_family = sorted(file.parent.glob("*.py")) if wanted in SHIPPED else [file]
    digest = hashlib.sha256(source_digest(_PLAYING).encode())
    for each in of_family:
        digest.update(each.read_bytes())
    return digest.hexdigest()[:16]


def _is_choice(value: object, module: ModuleType) -> bool:
    """Tell whether a module's value is a family of its own, or a contract."""
    if inspect.isclass(value):
        return issubclass(value, Family) and value.__module__ == module.__name__
    return isinstance(value, Contract)


FAMILY_OR_CONTRACT = WantedKind("no family and no contract", _is_choice)
"""What a file of a study's own is asked for."""


def _name(family: type[Family]) -> str:
    """Return the class's name in lower case with underscores, e.g. `map_exploration`."""
    parts = [f"_{letter.lower()}" if letter.isupper() else letter for letter in family.__name__]
    return "".join(parts).strip("_")
