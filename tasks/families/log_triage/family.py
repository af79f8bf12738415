"""Log triage as a task family."""

from collections.abc import Mapping
from typing import Any, ClassVar

from carryover.tasks.families.family import Environment, Family, Lesson, Tool
from carryover.tasks.families.log_triage.events import SIZES, draw_log, make_events, meets
from carryover.tasks.families.log_triage.teacher import write_block
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

PAGE = 400
"""Events that a query returns at most."""


class LogWorld(Environment):
    """One log behind its queries."""

    def __init__(self, log: Mapping[str, Any]) -> None:
        super().__init__(self.list_fields, self.query, self.report)
        self._log = log
        self._events = make_events(log)
        self._asked: set[tuple[tuple[str, str], ...]] = set()
        self._reported: dict[str, str] = {}

    def list_fields(self) -> dict:
        """Return the fields of an event, each with its values."""
        return {name: list(values) for name, values in self._log["fields"].items()}

    def query(self, where: dict) -> list:
        """Return up to 400 events that have the given values, e.g. {"host": "red"}; each tells whether it failed.

        A new query costs one unit of the query budget, the same one again nothing. Fails when the budget is spent.
        """
        key = self._checked(where)
        if key not in self._asked:
            if len(self._asked) >= self._log["query_count"]:
                raise ToolRuntimeException(f"Query budget is spent: {len(self._asked)} different queries.")
            self._asked.add(key)
        return [event for event in self._events if meets(event, where)][:PAGE]

    def report(self, where: dict) -> None:
        """Name the values that make events fail; the last report counts."""
        self._checked(where)
        self._reported = dict(where)

    def score(self) -> float:
        """Return the F1 measure of the reported values: 1 for the cause itself."""
        cause = self._log["cause"]
        right = sum(cause.get(name) == value for name, value in self._reported.items())
        return 2 * right / (len(cause) + len(self._reported))

    def metrics(self) -> Mapping[str, float]:
        """Return queries asked and values reported."""
        return {"query_count": len(self._asked), "reported_count": len(self._reported)}

    def known(self) -> Mapping[str, Any]:
        """Return what was reported and what is left of the budget."""
        return {"reported": dict(self._reported), "queries_left": self._log["query_count"] - len(self._asked)}

    def _checked(self, where: dict) -> tuple[tuple[str, str], ...]:
        for name, value in where.items():
            if value not in self._log["fields"].get(name, ()):
                raise ToolRuntimeException(f"No event has {name} = {value!r}; list_fields() tells the values.")
        return tuple(sorted(where.items()))


class LogTriage(Family):
    """Finds the combination of values that makes events of a log fail."""

    buckets: ClassVar[tuple[str, ...]] = tuple(SIZES)
    known: ClassVar[Mapping[str, str]] = {
        "reported": "the values reported so far",
        "queries_left": "the queries that the budget still allows",
    }
    taught: ClassVar[tuple[str, ...]] = ("persistent", "stateless")
    spare_tool: ClassVar[str | None] = "list_fields"

    def sample(self, bucket: str, seed: int) -> Any:
        """Return a log's fields, cause and size."""
        return draw_log(bucket, seed)

    def goal(self, instance: Any) -> str:
        """Return the goal's text."""
        return (
            f"Log triage: {instance['event_count']} events, {instance['query_count']} queries. "
            f"Report the {len(instance['cause'])} values that together make events fail."
        )

    def open(self, instance: Any) -> LogWorld:
        """Return the world of a new episode."""
        return LogWorld(instance)

    def solve(self, instance: Any, tools: Mapping[str, Tool]) -> None:
        """Report the cause."""
        tools["report"](instance["cause"])
        tools["finish"]()

    def teach(self, lesson: Lesson) -> tuple[str, str]:
        """Return the next sentence and block of the teacher."""
        return write_block(lesson)
