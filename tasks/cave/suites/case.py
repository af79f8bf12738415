"""Cases: a world, the questions about it, and golden programs that give the state."""

import functools
import inspect
import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from carryover.tasks.cave.suites.values import Json, as_json, differing, index_of, kind_of

STAGE = "# then\n"
"""Separates the stages of a golden program: the calls of one stage need no result of each other's."""
OTHERS = "_others"
_DRAWS = 500
"""Turns that are drawn before a generator gives up: a mistake in its templates."""


class Turn(NamedTuple):
    """A question, and the program that does what it asks."""

    question: str
    golden: str
    fetch: str = ""
    """Binds the data that the program needs by calling functions, for arms without injected data."""
    added: tuple[str, ...] = ()
    """Functions that are there from this turn on."""


class Dialogue(NamedTuple):
    """A conversation with a simulated user in place of fixed questions."""

    scenario: str
    """System message of the simulated user."""
    told: tuple[str, ...] = ()
    """Texts that the user must have been told."""
    assertions: tuple[str, ...] = ()
    """Assertions that a judging model decides about the conversation."""

    def untold(self, answer: str) -> tuple[str, ...]:
        """Return the texts that replies lack, whatever their case and without commas."""
        said = answer.lower().replace(",", "")
        return tuple(f"not told: {text}" for text in self.told if text.lower() not in said)


class Call(NamedTuple):
    """A function call with its arguments by parameter name."""

    function: str
    arguments: dict[str, Json]


@dataclass
class World:
    """State of an episode: the interpreter's variables and a host's functions."""

    variables: dict[str, Any] = field(default_factory=dict)
    """Injected and checked."""
    data: dict[str, Any] = field(default_factory=dict)
    """Injected, and not checked."""
    types: tuple[type, ...] = ()
    """Classes of the variables."""
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    """Host functions by name, the same in every arm; arguments and results are JSON."""
    schemas: dict[str, dict[str, Json]] = field(default_factory=dict)
    """Functions as described to an endpoint (description, parameters), if their signature is not enough."""
    namespaced: dict[str, str] = field(default_factory=dict)
    """Dotted names by which code arms may call functions as well, with the functions' names."""
    acting: frozenset[str] = frozenset()
    """Functions that change the host's state: the golden program's calls of them are required."""
    descriptions: dict[str, str] = field(default_factory=dict)
    """Descriptions of variables and data for a prompt."""
    read_state: Callable[[], dict[str, Json]] = dict
    """The host's state as JSON."""
    checks_kinds: bool = False
    """Whether the types of the variables, and the index of frames and series, are checked as well."""

    def state(self) -> dict[str, Json]:
        """Return everything that is checked, as JSON."""
        values = {name: as_json(value) for name, value in self.variables.items()}
        if self.checks_kinds:
            values |= {f"type of {name}": kind_of(value) for name, value in self.variables.items()}
            labels = {f"index of {name}": index_of(value) for name, value in self.variables.items()}
            values |= {name: index for name, index in labels.items() if index is not None}
        return {**self.read_state(), **values}


Differences = Callable[[Mapping[str, Json], Mapping[str, Json]], tuple[str, ...]]


@dataclass(frozen=True)
class Case:
    """One conversation of a suite."""

    suite: str
    tier: str
    number: int
    world: World
    """As it is before the first turn; an episode takes a copy."""
    turns: tuple[Turn, ...]
    instructions: str = ""
    """Further lines of the system message."""
    differing: Differences = differing
    """Names at which an expected and an actual state differ."""
    size: int = 0
    """Rows of the data that it is about."""
    source: str = "generated"
    """Where the case comes from, with its revision."""
    dialogue: Dialogue | None = None
    """Replaces the question of the only turn by a conversation; the calls need not be the golden ones then."""

    @property
    def case_id(self) -> str:
        """Return `SUITE/TIER/NUMBER`."""
        return f"{self.suite}/{self.tier}/{self.number:03d}"

    @functools.cached_property
    def expected(self) -> tuple["Expected", ...]:
        """Expected state after each turn, if all before it were done right."""
        golden = GoldenRun(deepcopy(self.world))
        return tuple(golden.play(turn.golden) for turn in self.turns)


class Expected(NamedTuple):
    """Effects of a golden program."""

    state: dict[str, Json]
    stages: tuple[tuple[Call, ...], ...]
    """Its function calls, in the stages of its source."""

    @property
    def calls(self) -> list[Call]:
        """The calls of all stages, in their order."""
        return list(itertools.chain.from_iterable(self.stages))

    def required(self, acting: frozenset[str]) -> list[Call]:
        """Return the calls that an agent must have made as well."""
        return [call for call in self.calls if call.function in acting]


class GoldenRun:
    """Runs golden programs in this process: generators wrote them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._calls: list[Call] = []
        self._names: dict[str, Any] = {kind.__name__: kind for kind in world.types}
        self._names |= {name: self._recorded(name, function) for name, function in world.functions.items()}
        self._names |= world.data | world.variables

    def play(self, golden: str) -> Expected:
        """Run a program, and return the state that it leaves."""
        stages = tuple(self.calls(source) for source in golden.split(STAGE))
        self.world.variables = {name: self._names[name] for name in self.world.variables}
        return Expected(self.world.state(), stages)

    def calls(self, source: str) -> tuple[Call, ...]:
        """Run a part of a program, and return the calls that it makes."""
        self._calls = []
        exec(compile(source, "<golden>", "exec"), self._names)
        return tuple(self._calls)

    def _recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        def call(*arguments: Any, **keywords: Any) -> Any:
            self._calls.append(Call(name, json.loads(json.dumps(bound(signature, arguments, keywords)))))
            return function(*arguments, **keywords)

        return call


def bound(signature: inspect.Signature, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments by parameter; `OTHERS` collects unusable names."""
    found = dict(signature.bind(*arguments, **keywords).arguments)
    return found | found.pop(OTHERS, {})


Draw = Callable[[random.Random, World], Turn]


def grow_turns(random_source: random.Random, world: World, pools: Sequence[Sequence[Draw]]) -> tuple[Turn, ...]:
    """Draw one turn from each pool, such that no idle agent passes.

    Each turn leaves a state other than the first one, than the one before, and than what the program of the turn before
    would leave if it were run again. A turn whose program fails is drawn again.
    """
    turns: list[Turn] = []
    world = deepcopy(world)
    others: list[dict[str, Json] | None] = [world.state()]
    failures: list[Exception] = []
    for pool in pools:
        turn = None
        for _ in range(_DRAWS):
            turn = random_source.choice(pool)(random_source, world)
            after = deepcopy(world)
            state = _state_after(after, turn, failures)
            if state is not None and all(other is None or differing(state, other) for other in others):
                break
        else:
            message = f"no turn {len(turns) + 1} changes the state as it must; last drawn: {turn}"
            raise RuntimeError(message) from (failures[-1] if failures else None)
        turns.append(turn)
        world = after
        others = [others[0], state, _state_after(deepcopy(world), turn, failures)]
    return tuple(turns)


def _state_after(world: World, turn: Turn, failures: list[Exception]) -> dict[str, Json] | None:
    """Return the state after a turn's program; None if it fails."""
    try:
        return GoldenRun(world).play(turn.golden).state
    except Exception as error:  # noqa: BLE001 - whatever a program does where it does not fit
        failures.append(error)
        return None
