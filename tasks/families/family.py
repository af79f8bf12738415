"""A task family as its author writes it."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from carryover.tasks.knapsack.teachers.small import PlayedTurn, starts_anew

Tool = Callable[..., Any]


class Environment(ABC):
    """World of one episode, reached by blocks through its tools."""

    def __init__(self, *tools: Tool) -> None:
        """Offer functions as tools, with `finish` as the last.

        A tool takes and returns plain JSON values, and refuses a call by a `ToolRuntimeException`. Full prompts show a
        model its signature and docstring, compact ones its name alone.
        """
        self.is_over = False
        """Whether the agent has ended the episode."""
        self.tools: dict[str, Tool] = {tool.__name__: tool for tool in (*tools, self.finish)}
        """The tools by name, in the order of their documentation."""

    def finish(self) -> None:
        """End the episode; what has been done so far is the answer."""
        self.is_over = True

    @abstractmethod
    def score(self) -> float:
        """Return the state's score in [0, 1], 1 for the reference's."""

    def metrics(self) -> Mapping[str, float]:
        """Return numbers of the family's own for the episode's row."""
        return {}

    def known(self) -> Mapping[str, Any]:
        """Return objects that a contract with injection binds, by name."""
        return {}


class Habits:
    """A teacher's choices for a whole episode, drawn by name."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.drawn: dict[str, Any] = {}
        """What was chosen, by name."""

    def choose(self, name: str, *choices: Any) -> Any:
        """Return a choice, the same for a name throughout an episode.

        It is the same under every contract, too.
        """
        self.drawn[name] = random.Random(f"{name} {self._seed}").choice(choices)
        return self.drawn[name]


class Lesson(NamedTuple):
    """A conversation that a scripted teacher continues."""

    contract: str
    """Contract that the reply is written for, one of `taught`."""
    goal: str
    """Text of the goal."""
    turns: Sequence[PlayedTurn]
    """Earlier blocks, each with its output and whether it failed."""
    habits: Habits
    """Choices that hold for the whole episode: equal in every turn, and under every contract."""
    chance: random.Random
    """Draws what changes from turn to turn: equal under every contract."""
    kept_blocks: int | None = None
    """Further blocks that a name outlives: 0 where no name is kept, None where every name is."""

    @property
    def starts_anew(self) -> bool:
        """Whether the block must set up everything.

        The last one failed, or it finds no name of an earlier one.
        """
        return starts_anew(self.turns, self.kept_blocks)


class Family(ABC):
    """A kind of problem that a study is run on."""

    buckets: ClassVar[tuple[str, ...]] = ("standard",)
    """Difficulties by name: models are trained on the first, and the last stands for a harder one."""
    known: ClassVar[Mapping[str, str]] = {}
    """What `Environment.known` binds: a description by name."""
    taught: ClassVar[tuple[str, ...]] = ()
    """Contracts that `teach` plays."""
    spare_tool: ClassVar[str | None] = None
    """A tool that costs nothing, which an injected fault may let fail; None injects no faults."""
    tool_call_cap: ClassVar[int | None] = 25
    """Tool calls that a block may make; None for no cap."""
    tools_vary: ClassVar[bool] = False
    """Whether instances differ in their tools; then each goal documents its own."""

    @abstractmethod
    def sample(self, bucket: str, seed: int) -> Any:
        """Return a seed's instance as plain JSON, equal for equal seeds."""

    @abstractmethod
    def goal(self, instance: Any) -> str:
        """Return what the agent is told of an instance."""

    @abstractmethod
    def open(self, instance: Any) -> Environment:
        """Return the world of a new episode."""

    @abstractmethod
    def solve(self, instance: Any, tools: Mapping[str, Tool]) -> None:
        """Play the reference solution, which scores 1.

        It may use what the agent does not see.
        """

    def teach(self, lesson: Lesson) -> tuple[str, str]:
        """Return a scripted teacher's next reply: a sentence and a block."""
        raise NotImplementedError(f"{type(self).__name__} has no teacher for contract {lesson.contract!r}")


def is_teaching(family: Family) -> bool:
    """Tell whether a family has written `teach`."""
    return type(family).teach is not Family.teach
