"""Plugin of pytest with the fixture `assert_contract`."""

from collections.abc import Callable

import pytest


@pytest.fixture
def assert_contract() -> Callable[..., None]:
    """Return `assert_contract(runtime, "stateless")`, which fails on a breach."""
    from carryover.tasks.probe.contract import assert_contract as asserting  # only tests that ask for it pay for it

    return asserting
