from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.cave.suites.catalogue import sampled_cases, suite_cases
from carryover.tasks.services.errors import UserError

CASES: list[Any] = [SimpleNamespace(tier=tier, number=number) for tier, number in product("ab", range(3))]

ALL = "a0 a1 a2 b0 b1 b2"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, "a0"),
        (2, "a0 b0"),
        (3, "a0 a1 b0"),
        (4, "a0 a1 b0 b1"),
        (9, "a0 a1 a2 b0 b1 b2"),
        (None, "a0 a1 a2 b0 b1 b2"),
    ],
)
def test_limit_takes_cases_from_every_tier_in_turn(limit, expected):
    assert " ".join(f"{case.tier}{case.number}" for case in sampled_cases(CASES, limit)) == expected


def test_few_cases_of_a_suite_cover_its_tiers():
    cases = suite_cases("token_efficiency", 0)
    assert {case.tier for case in sampled_cases(cases, 3)} == {case.tier for case in cases}


@pytest.mark.parametrize("suite", ["bfcl", "bfcl_multi_turn", "tau2"])
def test_imported_suites_read_the_download(suite):
    with pytest.raises(UserError, match=f"^{suite} needs your own download"):
        suite_cases(suite, 0)
    with pytest.raises(UserError, match=r"^/nowhere "):
        suite_cases(suite, 0, "/nowhere")
