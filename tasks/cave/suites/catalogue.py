"""The suites by name."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from carryover.tasks.cave.importers.bfcl import bfcl_cases
from carryover.tasks.cave.importers.bfcl_multi_turn import bfcl_multi_turn_cases
from carryover.tasks.cave.importers.tau2 import tau2_cases
from carryover.tasks.cave.suites.case import Case
from carryover.tasks.cave.suites.data_intensive import data_intensive_cases, data_size_cases
from carryover.tasks.cave.suites.long_horizon import long_horizon_cases
from carryover.tasks.cave.suites.multi_variable import multi_variable_cases
from carryover.tasks.cave.suites.printed import printed_cases
from carryover.tasks.cave.suites.token_efficiency import token_efficiency_cases
from carryover.tasks.cave.suites.types import type_cases

GENERATED = Literal[
    "types", "multi_variable", "long_horizon", "token_efficiency", "data_intensive", "data_sizes", "printed"
]
"""Suites that need no download."""
SuiteName = Literal[GENERATED, "bfcl", "bfcl_multi_turn", "tau2"]
_IMPORTERS: dict[str, Callable[[str | None], list[Case]]] = {
    "bfcl": bfcl_cases,
    "bfcl_multi_turn": bfcl_multi_turn_cases,
    "tau2": tau2_cases,
}
_GENERATORS: dict[str, Callable[[int], list[Case]]] = {
    "types": type_cases,
    "multi_variable": multi_variable_cases,
    "long_horizon": long_horizon_cases,
    "token_efficiency": token_efficiency_cases,
    "data_intensive": data_intensive_cases,
    "data_sizes": data_size_cases,
    "printed": printed_cases,
}


def sampled_cases(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """Return at most so many cases, evenly over the tiers."""
    if limit is None:
        return list(cases)
    seen: Counter[str] = Counter()
    ranks: list[int] = []
    for case in cases:
        ranks.append(seen[case.tier])
        seen[case.tier] += 1
    chosen = sorted(sorted(range(len(cases)), key=ranks.__getitem__)[:limit])
    return [cases[place] for place in chosen]


def suite_cases(suite: SuiteName, seed: int, data: str | None = None) -> list[Case]:
    """Return a suite's cases; imported suites read the download `data`."""
    if suite in _IMPORTERS:
        return _IMPORTERS[suite](data)
    return _GENERATORS[suite](seed)
