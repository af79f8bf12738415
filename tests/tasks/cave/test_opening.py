import os
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.cave import opening
from carryover.tasks.cave.opening import open_interpreter
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


def test_unknown_contract_leaves_no_process_behind():
    before = set(descendants(os.getpid()))
    with pytest.raises(ValueError, match="fleeting"):
        open_interpreter(RuntimeSpec(), "fleeting", None, None)
    assert before.issuperset(descendants(os.getpid()))


class SharedRuntime:
    """A runtime that keeps how its interpreters were opened, and which were closed."""

    def __init__(self):
        self.opened = []
        self.closed = []

    def open_interpreter(self, contract, tools, **options):
        self.opened.append((contract, tools, options))
        return SimpleNamespace(close=lambda: self.closed.append("interpreter"))

    def close(self):
        self.closed.append("runtime")


@pytest.mark.parametrize(("name", "instance_id", "salt_length"), [("me", "me", 0), (None, "agent", 16)])
def test_an_interpreter_is_opened_by_its_agents_name_and_rules(name, instance_id, salt_length):
    runtime: Any = SharedRuntime()
    spec = RuntimeSpec(block_timeout_seconds=7)
    opened = [open_interpreter(spec, "stateless", name, runtime) for _ in range(2)]
    salts = set()
    for contract, tools, options in runtime.opened:
        salt = options.pop("salt")
        salts.add(salt)
        assert len(salt) == salt_length
        assert (contract, tools) == (CONTRACTS["stateless"], {})
        assert options == {"instance_id": instance_id, "tool_call_cap": None, "rules": spec}
    assert len(salts) == (1 if name else 2)
    for each in opened:
        assert each.worker is runtime
        each.ends.close()
    assert runtime.closed == ["interpreter"] * 2


def test_a_runtime_of_its_own_has_a_folder_and_ends_with_the_interpreter(monkeypatch):
    made = []

    def open_own(spec):
        made.append((spec, SharedRuntime()))
        return made[-1][1]

    monkeypatch.setattr(opening, "open_runtime", open_own)
    opened = open_interpreter(RuntimeSpec(), "persistent", "me", None)
    ((spec, runtime),) = made
    assert (spec, opened.worker) == (RuntimeSpec().with_folder(), runtime)
    assert runtime.opened[0][2]["rules"] == RuntimeSpec()
    opened.ends.close()
    assert runtime.closed == ["interpreter", "runtime"]
