"""A family checked without a model: instances, goal, tools, scores and teachers."""

import asyncio
import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.own_contracts import lesson_of, script_of
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.families.choose import open_own_family
from carryover.tasks.families.family import Family, is_teaching
from carryover.tasks.families.own_family import OwnFamily
from carryover.tasks.families.problem import Problem
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract, named_contract
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.traces.vocabulary import FinishReason

TAUGHT_EPISODES = 3
"""Episodes that each teacher plays in the sandbox, per contract."""
MAX_TURNS = 24
"""Replies of such an episode: those of the laptop plan."""
MOST_FAULTS = 5
"""Faulty instances after which no further ones are looked at."""
STUDY_INSTANCES = {"smoke": 46, "laptop": 1100}
"""Distinct instances of the first bucket that a plan draws for training and evaluation."""


class FamilyReport(NamedTuple):
    """Findings of a check."""

    name: str
    instance_count: int
    """Sound instances."""
    faults: list[str]
    notes: list[str]
    """What the teachers reached, one sentence per contract; or what a study needs without one."""


def check_family(
    wanted: str, seed_count: int = 100, *, contracts: Sequence[Contract] = (), open_bar: OpenBar = no_bar
) -> FamilyReport:
    """Check a family on its first seeds, per bucket, with teachers.

    `contracts` are played besides those that the family teaches. Raise `UserError` where there is no such family.
    """
    own = open_own_family(wanted)
    problems: list[Problem] = []
    faults = list(_faults_of_class(own, contracts))
    if not faults:
        faults = _check_instances(own, seed_count, problems, open_bar)
    if not faults:
        faults = list(_faults_of_tools(own, problems))
    notes: list[str] = []
    if not faults:
        with closing(open_runtime(RuntimeSpec().for_contracts(contracts))) as runtime:
            for contract in _taught(own, contracts):
                played = _Lessons(own, contract, runtime)
                played.give(problems[:TAUGHT_EPISODES])
                faults += played.faults
                notes.append(played.note)
        if not is_teaching(own.family):
            notes.append("no scripted teacher: `carryover run` needs --teacher-url URL --teacher-model NAME")
    return FamilyReport(own.name, len(problems), faults, notes)


def _taught(own: OwnFamily, contracts: Sequence[Contract]) -> list[Contract]:
    """Return the contracts to play: those that the family teaches, and further ones."""
    taught = [named_contract(name, contracts) for name in own.family.taught]
    return list(dict.fromkeys([*taught, *contracts]))


def _faults_of_class(own: OwnFamily, contracts: Sequence[Contract]) -> Iterator[str]:
    family = own.family
    for field in ("buckets", "taught"):
        value = getattr(family, field)
        if isinstance(value, str):
            yield f"{field} is the text {value!r}; write a tuple of names: ({value!r},)"
            return
    if not family.buckets:
        yield "buckets is empty; name one difficulty at least"
    yield from _faults_of_taught(family, contracts)
    for name in family.known:
        if not name.isidentifier():
            yield f"known names {name!r}, which is not a valid identifier"


def _faults_of_taught(family: Family, contracts: Sequence[Contract]) -> Iterator[str]:
    for name in family.taught:
        try:
            named_contract(name, contracts)
        except ValueError as error:
            yield f"taught: {error}, or define it with --contracts"
    if is_teaching(family) and not family.taught:
        yield "teach() is written, but taught names no contract that it plays: taught = ('persistent', 'stateless')"
    for contract in contracts:
        if lesson_of(contract, family.taught) is None:
            names = dict.fromkeys([contract.name, script_of(contract).contract.value])
            yield f"no teacher for contract {contract.name!r}: teach {' or '.join(names)}, and name it in taught"


def _check_instances(own: OwnFamily, seed_count: int, problems: list[Problem], open_bar: OpenBar) -> list[str]:
    """Return what is wrong with instances; sound ones are added to `problems`."""
    faulty = _Faulty()
    repeating: list[str] = []
    with open_bar(f"family {own.name}", seed_count * len(own.family.buckets), "instances") as advance:
        for bucket in own.family.buckets:
            names = set()
            for seed in range(seed_count):
                advance(1)
                try:
                    problem = _sound_instance(own, bucket, seed)
                except UserError as error:
                    reason = str(error).removeprefix(f"family {own.name}, seed {seed}: ")
                    faulty.add(f"bucket {bucket}, seed {seed}", reason)
                except Exception as error:  # noqa: BLE001 - the author's code, at the boundary that names it
                    faulty.add(f"bucket {bucket}, seed {seed}", f"{type(error).__name__}: {error}")
                else:
                    names.add(problem.instance_id)
                    problems.append(problem)
                if faulty.count == MOST_FAULTS:
                    return faulty.sentences()
            if not faulty.count and len(names) < seed_count:
                repeating.append(f"bucket {bucket}: {_too_few(len(names), seed_count)}")
    return [*faulty.sentences(), *repeating]


class _Faulty:
    """Faulty instances, each reason told once."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._places.values()))

    def add(self, place: str, reason: str) -> None:
        self._places.setdefault(reason, []).append(place)

    def sentences(self) -> list[str]:
        """Return a sentence per reason, with its first place and the number of others."""
        told = []
        for reason, (first, *others) in self._places.items():
            further = f" and {len(others)} more" if others else ""
            told.append(f"{first}{further}: {reason}")
        return told


def _too_few(distinct: int, seed_count: int) -> str:
    """Return the reason why seeds that repeat an instance are no study's."""
    needed = ", ".join(f"{count:,} at scale {scale}" for scale, count in STUDY_INSTANCES.items())
    drawn = f"{seed_count} seeds give {distinct} distinct {'instance' if distinct == 1 else 'instances'}"
    return f"{drawn} by content, and a study draws each once ({needed}); let sample() draw from more"


def _sound_instance(own: OwnFamily, bucket: str, seed: int) -> Problem:
    """Return a seed's instance; raise `UserError` for what is wrong with it."""
    problem = own.sample(bucket, seed)
    if own.sample(bucket, seed) != problem:
        raise UserError("the seed gives another instance the second time; draw from random.Random(seed)")
    goal = own.family.goal(problem.content)
    if not (isinstance(goal, str) and goal.strip()):
        raise UserError(f"goal() must return a text, not {goal!r}")
    environment = own.family.open(problem.content)
    if not hasattr(environment, "tools"):
        raise UserError("the environment has no tools; call super().__init__(tool, ...) in its __init__")
    if environment.is_over:
        raise UserError("is_over is true before the first block")
    bound = set(environment.known())
    if bound != set(own.family.known):
        raise UserError(f"known() binds {sorted(bound)}, the class declares {sorted(own.family.known)}")
    for name, value in environment.metrics().items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError(f"metrics() gives {value!r} for {name!r}, which is no finite number")
    own.validate(problem)
    return problem


def _faults_of_tools(own: OwnFamily, problems: Sequence[Problem]) -> Iterator[str]:
    first = own.family.open(problems[0].content).tools
    tools = dict(first)
    last_of_bucket = {problem.bucket: problem for problem in problems}
    for problem in last_of_bucket.values():
        others = own.family.open(problem.content).tools
        if others.keys() != first.keys() and not own.family.tools_vary:
            yield f"bucket {problem.bucket}: instances differ in their tools; set tools_vary = True"
        tools |= others
    for name, tool in tools.items():
        if not name.isidentifier():
            yield f"tool {name!r} has no name to call it by; define it as a function or method"
        if not inspect.getdoc(tool):
            yield f"tool {name} has no docstring, which full prompts show to the agent"
    spare = own.family.spare_tool
    if spare is not None and spare not in tools:
        yield f"spare_tool {spare!r} is no tool; choose from {', '.join(tools)}"


class _Lessons:
    """Episodes of a family's teacher under one contract, in the sandbox."""

    def __init__(self, own: OwnFamily, contract: Contract, runtime: Runtime) -> None:
        self._own = own
        self._contract = contract
        self._runtime = runtime
        self._played: list[RecordedEpisode] = []
        self.faults: list[str] = []

    def give(self, problems: Sequence[Problem]) -> None:
        """Play the problems; the first that fails is the last."""
        for problem in problems:
            try:
                recorded = self._play(problem)
            except Exception as error:  # noqa: BLE001 - the author's code, at the boundary that names it
                self.faults.append(f"{self._who}, seed {problem.seed}: {type(error).__name__}: {error}")
                return
            self._played.append(recorded)
            uncaught = [error.message for error in recorded.errors if not error.is_caught]
            self.faults += [f"{self._who}, seed {problem.seed}: {message}" for message in uncaught[:1]]
            if len(uncaught) > 1:
                self.faults.append(f"{self._who}, seed {problem.seed}: {len(uncaught) - 1} further blocks fail")
            reason = recorded.episode.finish_reason
            if reason is not FinishReason.FINISH_TOOL:
                self.faults.append(f"{self._who}: an episode ended with {reason}, not with finish()")
            if self.faults:
                return

    @property
    def note(self) -> str:
        """Scores and lengths that the teacher reached, in words."""
        count = max(len(self._played), 1)  # a teacher that failed at once has played none
        score = sum(recorded.episode.score or 0.0 for recorded in self._played) / count
        turns = sum(recorded.episode.turn_count for recorded in self._played) / count
        played = "1 episode" if len(self._played) == 1 else f"{len(self._played)} episodes"
        return f"{self._who}: mean score {score:.2f} in {turns:.1f} turns, {played}"

    @property
    def _who(self) -> str:
        return f"teacher of {self._contract.name}"

    def _play(self, problem: Problem) -> RecordedEpisode:
        family = self._own.family
        context = EpisodeContext(
            family=self._own,
            condition=Condition(
                purpose="teacher",
                model_name="scripted",
                runtime_contract=self._contract.name,
                own_contracts=(self._contract,),
                bucket=problem.bucket,
                split="train",
            ),
            client=self._own.open_teacher(problem.bucket, self._contract),
            runtime=self._runtime,
            spec=EpisodeSpec(prompt_set="compact", max_turns=MAX_TURNS, tool_call_cap=family.tool_call_cap),
            run_id="check",
            plan_digest="check",
            stage_digest="check",
            scale="smoke",
        )
        return asyncio.run(run_episode(context, PlannedEpisode(problem)))
