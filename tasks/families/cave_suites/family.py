"""CaveAgent's suites as families (arXiv 2601.01569): their state checks are the score."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from carryover.tasks.cave.arms.arm import Arm
from carryover.tasks.cave.arms.case_environment import READ, WRITE, CaseEnvironment
from carryover.tasks.cave.arms.oracle import programs
from carryover.tasks.cave.importers.bfcl import CATEGORIES
from carryover.tasks.cave.importers.bfcl_multi_turn import MULTI_TURN_CATEGORIES
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
_KEPT_SUITES = 8
"""Drawn suites that stay in memory."""


class CaseWorld(Environment):
    """A case's variables and functions, and its questions in order."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._played = CaseEnvironment(case, _STORED)
        self._store = self._played.functions()
        self._handed_in = 0
        self._right = 0
        of_case = {name: function for name, function in self._store.items() if name not in (READ, WRITE)}
        store: tuple[Tool, ...] = ()
        if case.world.variables:
            store = (self.read_variable, self.write_variable)
        super().__init__(*store, self.next_question)
        self.tools = {**of_case, **self.tools}

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
        """Return the share of questions after which the state was right."""
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
    """A suite whose cases are judged by their state."""

    suite: ClassVar[SuiteName]
    is_drawn: ClassVar[bool] = True
    """Whether a seed draws the cases; else they are a list that seeds go through again and again."""
    data: ClassVar[str | None] = None
    """The download that an imported suite reads."""
    tool_call_cap = None

    def sample(self, bucket: str, seed: int) -> dict[str, Any]:
        """Return the place of a case.

        A suite that is drawn is drawn anew when its cases are used up.
        """
        count = len(self._cases(bucket, 0))
        case_seed, place = divmod(seed, count)
        if not self.is_drawn:
            case_seed = 0
        case = self._cases(bucket, case_seed)[place]
        checked = canonical_json([[turn.question for turn in case.turns], [each.state for each in case.expected]])
        digest = hashlib.sha256(checked.encode()).hexdigest()[:16]  # so that a changed suite has other instances
        return {"tier": bucket, "case_seed": case_seed, "place": place, "digest": digest}

    def goal(self, instance: Mapping[str, Any]) -> str:
        """Return the task's variables and its first question."""
        case = self._case(instance)
        instructions = CaseEnvironment(case, _STORED).instructions()
        return f"{instructions}\n{_HANDING_IN}{case.turns[0].question}".lstrip()

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
        return self._cases(instance["tier"], instance["case_seed"])[instance["place"]]

    def _cases(self, bucket: str, seed: int) -> list[Case]:
        """Return a bucket's cases; an episode takes a copy of the world."""
        return [case for case in _suite(self.suite, seed, self.data) if case.tier == bucket]


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


class CaveTokenEfficiency(CaveSuite):
    """A building, a brokerage or a shop behind functions, eight requests."""

    suite = "token_efficiency"
    buckets = ("iot", "finance", "shop")
    tools_vary = True


class CaveDataIntensive(CaveSuite):
    """Five years of prices behind a function: a value or a chart."""

    suite = "data_intensive"
    buckets = ("query", "analysis", "visualization")


class CaveDataSizes(CaveSuite):
    """Tasks of the data-intensive suite on one to ten years of prices."""

    suite = "data_sizes"
    buckets = ("01", "02", "05", "10")


class CavePrinted(CaveSuite):
    """The conversations that the paper prints."""

    suite = "printed"
    buckets = ("printed",)
    is_drawn = False

    def _cases(self, bucket: str, seed: int) -> list[Case]:
        return _suite(self.suite, seed, None)


class CaveBfcl(CaveSuite):
    """BFCL's single-turn tasks: which functions were called, and how.

    A subclass names the download: `data = "bfcl_eval-2026.3.23-py3-none-any.whl"`.
    """

    suite = "bfcl"
    buckets = CATEGORIES
    is_drawn = False
    tools_vary = True


class CaveBfclMultiTurn(CaveBfcl):
    """BFCL's multi-turn tasks, except those whose functions come later."""

    suite = "bfcl_multi_turn"
    buckets = tuple(category for category in MULTI_TURN_CATEGORIES if category != "miss_func")


@lru_cache(_KEPT_SUITES)
def _suite(suite: SuiteName, seed: int, data: str | None) -> list[Case]:
    return suite_cases(suite, seed, data)
