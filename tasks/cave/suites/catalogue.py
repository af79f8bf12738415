"""The suites by name."""

from typing import Literal

from carryover.tasks.cave.importers.bfcl import bfcl_cases
from carryover.tasks.cave.suites.case import Case
from carryover.tasks.cave.suites.data_intensive import data_intensive_cases
from carryover.tasks.cave.suites.long_horizon import long_horizon_cases
from carryover.tasks.cave.suites.multi_variable import multi_variable_cases
from carryover.tasks.cave.suites.token_efficiency import token_efficiency_cases
from carryover.tasks.cave.suites.types import type_cases

GENERATED = Literal["types", "multi_variable", "long_horizon", "token_efficiency", "data_intensive"]
SuiteName = Literal[GENERATED, "bfcl"]


def suite_cases(suite: SuiteName, seed: int, data: str | None = None) -> list[Case]:
    """Return the cases of a suite; `data` is the user's own download, for imported ones."""
    match suite:
        case "types":
            return type_cases(seed)
        case "multi_variable":
            return multi_variable_cases(seed)
        case "long_horizon":
            return long_horizon_cases(seed)
        case "token_efficiency":
            return token_efficiency_cases(seed)
        case "data_intensive":
            return data_intensive_cases(seed)
        case "bfcl":
            return bfcl_cases(data)
