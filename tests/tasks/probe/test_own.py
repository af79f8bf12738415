"""The connector to this package's own sessions."""

from types import SimpleNamespace

import pytest

from carryover.tasks.probe.connectors import own
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


class NotedSession:
    """Notes what it is asked for; a saved one is a file."""

    def __init__(self, asked):
        self._asked = asked

    def run(self, code):
        self._asked.append(("run", code))
        if code == "raise":
            return SimpleNamespace(output="out", result=None, error=SimpleNamespace(message="ValueError"))
        return SimpleNamespace(output="out", result="3", error=None)

    def save(self, path):
        path.write_text("saved")
        self._asked.append(("save",))

    def reload(self, path):
        self._asked.append(("reload", path.read_text()))

    def inject_all(self, values):
        self._asked.append(("inject", dict(values)))

    def close(self):
        self._asked.append(("close",))


@pytest.fixture
def asked(monkeypatch):
    noted = []

    def open_session(contract, *, spec):
        noted.append((contract, spec.backend, spec.block_timeout_seconds))
        return NotedSession(noted)

    monkeypatch.setattr(own, "session", open_session)
    return noted


def test_a_session_has_the_contract_the_backend_and_the_limit(asked):
    runtime = OwnRuntime("stateless", "jupyter", timeout_seconds=2.0)
    runtime.open()
    assert [runtime.run("x"), runtime.run("raise")] == ["out\n3\n", "out\n\nValueError"]
    runtime.inject({"a": 1})
    asked.clear()
    runtime.resume()
    runtime.time_out()
    runtime.kill()
    assert runtime.injected() == {"a": 1}
    runtime.reset()
    assert runtime.injected() == {}
    runtime.close()
    runtime.close()
    opened = ("stateless", "jupyter", 2.0)
    assert asked == [
        ("save",),
        ("close",),
        ("stateless", "jupyter", 60.0),
        ("inject", {"a": 1}),
        ("reload", "saved"),
        ("run", "while True: pass"),
        ("run", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        ("close",),
        opened,
        ("close",),
    ]


def test_a_runtime_of_this_package_tells_its_versions():
    told = f"carryover {own.version('carryover')}, Python {own.platform.python_version()}"
    assert OwnRuntime("persistent").version() == told
