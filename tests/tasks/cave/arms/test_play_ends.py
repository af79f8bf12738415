"""What an episode brings in late, and what it leaves behind."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.suites.case import Case, Turn, World


def later():
    return 5


CASE = Case(
    "made",
    "late",
    0,
    World(variables={"total": 1}, functions={"later": later}),
    (Turn("Add 1.", "total += 1"), Turn("Take what is there now.", "total = later()", added=("later",))),
)


class Noting:
    """A runtime that keeps the interpreters that it opened."""

    def __init__(self, runtime):
        self.opened = []
        self._runtime = runtime

    def __getattr__(self, name):
        return getattr(self._runtime, name)

    def open_interpreter(self, *values, **named):
        self.opened.append(self._runtime.open_interpreter(*values, **named))
        return self.opened[-1]


@pytest.mark.parametrize("arm", ["persistent_code", "json_python"])
def test_an_episode_offers_late_functions_and_closes_its_interpreter(fork_tree, arm):
    runtime: Any = Noting(fork_tree)
    setting = Setting(AgentSpec(), runtime, "run", "plan", "smoke")
    replies = script(CASE, ARMS[arm])
    if arm == "json_python":  # the oracle computes in Python, which has no functions of the host
        replies = ["No.", "No."]
    played = asyncio.run(play(CaseEpisode(CASE, arm, 0), Oracle(replies), setting))
    assert [turn.is_passed for turn in played.turns] == [arm == "persistent_code"] * 2
    (interpreter,) = runtime.opened
    with pytest.raises(ValueError, match="the interpreter is closed"):
        interpreter.run_block("1")
