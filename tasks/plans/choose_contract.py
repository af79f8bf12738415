"""The contract that a name or a definition of one's own means."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from carryover.tasks.families.choose import FAMILY_OR_CONTRACT
from carryover.tasks.runtime.contract import Contract, is_described, named_contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.own_objects import import_object

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
"""Names that rows, folders and served models can bear."""


def choose_contracts(wanted: Iterable[str]) -> dict[str, Contract]:
    """Return the contract of each name, `MODULE:NAME`, `FILE.py:NAME` or `FILE.yaml:NAME`.

    Raise `UserError` for an unknown or invalid one, and for two of one name.
    """
    chosen: dict[str, Contract] = {}
    by_name: dict[str, Contract] = {}
    for each in dict.fromkeys(wanted):
        contract = choose_contract(each)
        if by_name.setdefault(contract.name, contract) != contract:
            raise UserError(f"two contracts are named {contract.name!r}; rename one")
        chosen[each] = contract
    return chosen


def choose_contract(wanted: str) -> Contract:
    """Return a contract by name or from a file.

    Raise `UserError` for an unknown or invalid one.
    """
    place, _, name = wanted.rpartition(":")
    if not place:
        return _by_name(wanted)
    contract = _read(wanted, place, name)
    if not _NAME.fullmatch(contract.name):
        raise UserError(
            f"{wanted!r}: invalid name {contract.name!r}; use lower-case letters, digits and single hyphens"
        )
    try:
        is_described(contract)  # refuses a known name that means another contract
    except ValueError as error:
        raise UserError(f"{wanted!r}: {error}") from error
    return contract


def _by_name(name: str) -> Contract:
    try:
        return named_contract(name)
    except ValueError as error:
        raise UserError(f"{error}; or name FILE.py:NAME or FILE.yaml:NAME") from error


def _read(wanted: str, place: str, name: str) -> Contract:
    try:
        if place.endswith((".yaml", ".yml")):
            return Contract.model_validate(_fields_in(wanted, place, name))
        found = import_object(wanted, FAMILY_OR_CONTRACT)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{wanted!r}: {field}: {reason}") from error
    if not isinstance(found, Contract):
        raise UserError(f"{wanted!r} is no carryover.Contract; write NAME = carryover.Contract(name=..., lifetime=...)")
    return found


def _fields_in(wanted: str, place: str, name: str) -> dict[str, Any]:
    """Return the fields of a YAML file's contract."""
    try:
        return {"name": name, **_defined_in(Path(place))[name]}
    except KeyError as error:
        raise UserError(f"{place} defines no contract {name!r}") from error
    except (ImportError, OSError, TypeError, ValueError) as error:
        raise UserError(f"cannot read contract {wanted!r}: {error}") from error


def _defined_in(file: Path) -> dict[str, Any]:
    """Return a YAML file's contracts by name; raise `ValueError` where it holds no mapping."""
    import yaml  # of the extra `study`

    try:
        defined = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"invalid YAML: {error}") from error
    if not isinstance(defined, dict):
        raise ValueError("the file maps no names to contracts")
    return defined
