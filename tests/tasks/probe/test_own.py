"""The connector to this package's own sessions."""

import pytest

from carryover.tasks.probe.connectors.own import OwnRuntime


@pytest.fixture
def opened():
    runtime = OwnRuntime("persistent")
    runtime.open()
    yield runtime
    runtime.close()


def test_a_reset_ends_the_session_and_begins_an_empty_one(opened):
    opened.run("x = 5")
    former = opened._opened
    opened.reset()
    assert "NameError" in opened.run("x")
    with pytest.raises(ValueError, match="closed"):
        former.run("x")


def test_a_closed_connector_may_be_closed_again(opened):
    opened.close()
    opened.close()
    opened.open()
    assert "2" in opened.run("1 + 1")


def test_a_resumed_session_keeps_variables_and_given_values(opened):
    opened.inject({"table": [1, 2]})
    opened.run("total = sum(table)")
    opened.resume()
    assert "3 [1, 2]" in opened.run("print(total, table)")
    assert opened.injected() == {"table": [1, 2]}
