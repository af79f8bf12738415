"""The runtime that a name means."""

import pytest

from carryover.tasks.probe.connectors.choose import choose_runtime


@pytest.mark.parametrize(("name", "found"), [("persistent", "1"), ("stateless", "name 'kept' is not defined")])
def test_contract_name_opens_a_session_under_it(name, found):
    runtime = choose_runtime(name)
    runtime.open()
    try:
        runtime.run("kept = 1")
        assert found in runtime.run("print(kept)")
    finally:
        runtime.close()
