"""The task family that an episode needs, as protocols.

`tasks/knapsack/family.py` is the study's own.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from carryover.tasks.agent.protocol import CountTokens, ModelClient
from carryover.tasks.agent.scripted import VariedModel
from carryover.tasks.runtime.contract import Contract


class Score(NamedTuple):
    """Result of an episode so far, however it ended."""

    score: float
    """In [0, 1]."""
    is_solved: bool
    metrics: Mapping[str, Any]
    """Numbers of the family's own, kept as JSON in the episode's row."""
    columns: tuple[str, ...] = ()
    """Metrics that have columns of their own as well."""


class Environment(Protocol):
    """World of one episode, on the host; blocks reach its tools alone."""

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The tools by name, in the order of their documentation."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the agent has ended the episode."""
        ...

    def known(self) -> dict[str, Any]:
        """Return objects that a contract with injection binds, by name."""
        ...

    def score(self) -> Score:
        """Return the present state's result."""
        ...


class Instance(Protocol):
    """One problem of a family; the family knows what else it holds."""

    @property
    def instance_id(self) -> str:
        """Name of the problem: equal for equal problems."""
        ...


class Family(Protocol):
    """A kind of problem that episodes are played on."""

    @property
    def name(self) -> str:
        """Name in rows."""
        ...

    @property
    def known_names(self) -> tuple[str, ...]:
        """Names that a contract with injection binds."""
        ...

    def open(self, instance: Any) -> Environment:
        """Return the world of a new episode."""
        ...

    def prompts(self, prompt_set: str) -> Mapping[str, str]:
        """Return prompts by name: `goal`, `tools`, and replacements of the study's own."""
        ...

    def goal_values(self, instance: Any) -> Mapping[str, object]:
        """Return the goal's `$names`: all that the model may know."""
        ...

    def usual_tool_call_cap(self, instance: Any) -> int | None:
        """Return the cap per turn that compact prompts need not mention."""
        ...

    def open_teacher(
        self,
        bucket: str,
        contract: str | Contract,
        count_tokens: CountTokens | None = None,
        *,
        prints_table: bool = True,
        habits: Mapping[str, tuple[str | int, ...]] | None = None,
    ) -> ModelClient | VariedModel:
        """Return the scripted teacher; raise `ValueError` where there is none.

        A contract of one's own is played by the script that `script_of` names. `habits` are levels by habit, one of
        each drawn per instance; None for the fixed teacher.
        """
        ...
