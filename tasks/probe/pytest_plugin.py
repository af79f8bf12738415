"""Plugin of pytest: the fixture `assert_contract`, by which a framework's tests keep a runtime's promise."""

from collections.abc import Callable

import pytest


@pytest.fixture
def assert_contract() -> Callable[..., None]:
    """Return the function that fails a test where a runtime breaks a claim: `assert_contract(runtime, "stateless")`."""
    from carryover.tasks.probe.contract import assert_contract as asserting  # only tests that ask for it pay for it

    return asserting
