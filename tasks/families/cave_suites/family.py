"""CaveAgent's suites as families (arXiv 2601.01569): their state checks are the score."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from carryover.tasks.cave.arms.arm import Arm
from carryover.tasks.cave.arms.case_environment import READ, WRITE, CaseEnvironment
from carryover.tasks.cave.arms.oracle import programs
from carryover.tasks.cave.suites.case import Case
from carryover.tasks.cave.suites.catalogue import SuiteName, suite_cases
from carryover.tasks.families.family import Environment, Family, Tool
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.traces.vocabulary import ContractName

_STORED = Arm(ContractName.PERSISTENT, writes_code=True, is_injected=False)
"""Variables lie in the host under every contract, so that what is judged outlives every block."""
_HANDING_IN = (
    "The questions come one by one, and build on each other. `next_question()` hands in the state as it is and returns "
    "the next question; `finish()` hands in the last one and ends. The first question: "
)
_LAST = "That was the last question; call finish()."


class CaseWorld(Environment):
    """A case's variables, and the questions about them in order."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._played = CaseEnvironment(case, _STORED)
        self._store = self._played.functions()
        self._handed_in = 0
        self._right = 0
        super().__init__(self.read_variable, self.write_variable, self.next_question)

    def read_variable(self, name: str) -> Any:
        """Return a variable as JSON.

        Arrays and sets are lists, frames are by column, objects by field.
        """
        return self._store[READ](name)

    def write_variable(self, name: str, value: Any) -> None:
        """Replace a variable, in the form in which it is read."""
        self._store[WRITE](name, value)

    def next_question(self) -> str:
        """Hand in the state as it is, and return the next question."""
        self._hand_in()
        if self._handed_in < len(self._case.turns):
            return self._case.turns[self._handed_in].question
        return _LAST

    def finish(self) -> None:
        """Hand in the state as it is, and end."""
        self._hand_in()
        super().finish()

    def score(self) -> float:
        """Return the share of questions after which every variable was right."""
        return self._right / len(self._case.turns)

    def metrics(self) -> Mapping[str, float]:
        """Return how many questions were handed in, and how many right."""
        return {"handed_in_count": self._handed_in, "right_count": self._right}

    def _hand_in(self) -> None:
        if self.is_over or self._handed_in == len(self._case.turns):
            return
        expected = self._case.expected[self._handed_in]
        self._right += not self._played.wrong_names(expected)
        self._handed_in += 1


class CaveSuite(Family):
    """A suite whose state is variables alone."""

    suite: ClassVar[SuiteName]
    tool_call_cap = None

    def sample(self, bucket: str, seed: int) -> dict[str, Any]:
        """Return the place of a case.

        The suite is drawn anew when its cases are used up.
        """
        count = len(_cases(self.suite, bucket, 0))
        case_seed, place = divmod(seed, count)
        case = _cases(self.suite, bucket, case_seed)[place]
        checked = canonical_json([[turn.question for turn in case.turns], [each.state for each in case.expected]])
        digest = hashlib.sha256(checked.encode()).hexdigest()[:16]  # so that a changed suite has other instances
        return {"tier": bucket, "case_seed": case_seed, "place": place, "digest": digest}

    def goal(self, instance: Mapping[str, Any]) -> str:
        """Return the task's variables and its first question."""
        case = self._case(instance)
        told = CaseEnvironment(case, _STORED).instructions()
        return f"{told}\n{_HANDING_IN}{case.turns[0].question}"

    def open(self, instance: Mapping[str, Any]) -> CaseWorld:
        """Return the world of a new episode."""
        return CaseWorld(self._case(instance))

    def solve(self, instance: Mapping[str, Any], tools: Mapping[str, Tool]) -> None:
        """Run the golden program of every question, and hand in after each."""
        names: dict[str, Any] = dict(tools)
        for program in programs(self._case(instance), _STORED):
            exec(compile(program, "<golden>", "exec"), names)
            tools["next_question"]()

    def _case(self, instance: Mapping[str, Any]) -> Case:
        return _cases(self.suite, instance["tier"], instance["case_seed"])[instance["place"]]


class CaveTypes(CaveSuite):
    """Values of many types, three questions on each."""

    suite = "types"
    buckets = ("simple", "object", "scientific")


class CaveMultiVariable(CaveSuite):
    """Five to twenty-five variables, three questions."""

    suite = "multi_variable"
    buckets = ("05", "10", "15", "20", "25")


class CaveLongHorizon(CaveSuite):
    """A house or an account, twenty questions."""

    suite = "long_horizon"
    buckets = ("smart_home", "financial_account")


@cache
def _cases(suite: SuiteName, tier: str, seed: int) -> list[Case]:
    """Return a tier's cases; an episode takes a copy of the world."""
    return [case for case in suite_cases(suite, seed) if case.tier == tier]
