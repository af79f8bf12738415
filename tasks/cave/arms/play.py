"""One case under one arm: played, checked, returned as rows."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from carryover.tasks.agent.events import Answer, Asked, Event, Observed, retryable
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.agent.recorder import EpisodeRecorder, RecordedEpisode
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.agent.stops import RUNTIME_FAULTS
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.calling import CallingAgent
from carryover.tasks.cave.arms.case_environment import CaseEnvironment, namespaces
from carryover.tasks.cave.arms.dialogue import Heard, Speakers, converse, missing_actions
from carryover.tasks.cave.arms.oracle import MODEL_NAME
from carryover.tasks.cave.arms.plan import INSTRUCTIONS
from carryover.tasks.cave.suites.case import Call, Case
from carryover.tasks.cave.tracing import Trace, conversation_fields
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.objects import Binding, RetrievalError
from carryover.tasks.runtime.results import ToolCall
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.vocabulary import FinishReason


class Setting(NamedTuple):
    """Settings shared by all episodes of a comparison."""

    spec: AgentSpec
    runtime: Runtime
    run_id: str
    plan_digest: str
    scale: str
    concurrency: int = 1
    """Episodes at a time."""
    instruction: str = "none"
    """Name of the factor of the prompt in force."""
    speakers: Speakers = Speakers()
    """Of cases that are conversations."""


class Played(NamedTuple):
    """An episode with the verdicts on its turns."""

    recorded: RecordedEpisode
    turns: list[CaveTurnRow]

    @property
    def rows(self) -> dict[str, list[Row]]:
        """All rows by table."""
        return {**self.recorded.rows, CaveTurnRow.TABLE: list(self.turns)}


class CaseEpisode(NamedTuple):
    """An episode of a comparison."""

    case: Case
    arm: ArmName
    replicate: int
    attempt: int = 0


def episode_id(episode: CaseEpisode, plan_digest: str, instruction: str) -> str:
    """Return an episode's id: equal in every run of the plan."""
    content = [episode.case.case_id, *episode[1:], plan_digest, instruction]
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:24]


async def play(episode: CaseEpisode, client: ModelClient, setting: Setting) -> Played:
    """Play a case through failed turns, until an error not the model's."""
    case = episode.case
    kind = _CodePlayer if ARMS[episode.arm].writes_code else _CallPlayer
    player = await asyncio.to_thread(kind, episode, client, setting)
    turns: list[CaveTurnRow] = []
    try:
        for turn in case.turns:
            if turns:
                player.add(turn.added)
            if case.dialogue is None:
                heard = Heard(*await player.ask(turn.question))
            else:
                heard = await converse(player.ask, turn.question, case.dialogue, setting.speakers, player.name)
            heard = heard._replace(answer=retryable(heard.answer))
            turns.append(player.judged(len(turns) + 1, heard))
            if heard.answer.stop is FinishReason.ERROR:  # the whole conversation is played again
                break
        share = sum(turn.is_passed for turn in turns) / len(case.turns)
        recorded = await asyncio.to_thread(
            player.finish,
            variant=episode.arm,
            bucket=case.suite,
            attempt=episode.attempt,
            max_turns=setting.spec.max_steps * len(case.turns),
            max_tokens=setting.spec.max_tokens and setting.spec.max_tokens * len(case.turns),
            concurrency=setting.concurrency,
            plan_digest=setting.plan_digest,
            score=share,
            is_solved=share == 1,
            finish_reason=turns[-1].finish_reason,
            error_message=turns[-1].answer if turns[-1].finish_reason == FinishReason.ERROR else None,
        )
    finally:
        player.close()
    return Played(recorded, turns)


class _Player:
    """Base of both kinds of arms."""

    def __init__(self, episode: CaseEpisode, client: ModelClient, setting: Setting) -> None:
        self.episode = episode
        self.case = episode.case
        self.arm = ARMS[episode.arm]
        self.client = client
        self.setting = setting
        self.environment = CaseEnvironment(self.case, self.arm)
        self.name = f"{self.case.case_id}/{episode.replicate}"
        self.episode_id = episode_id(episode, setting.plan_digest, setting.instruction)
        parts = self.environment.instructions(), INSTRUCTIONS[setting.instruction]
        self.instructions = "\n".join(filter(None, parts))
        self._replies = 0

    def judged(self, question: int, heard: Heard) -> CaveTurnRow:
        """Check a turn, and return its row."""
        answer = heard.answer
        calls = heard.calls
        dialogue = self.case.dialogue
        expected = self.case.expected[question - 1]
        made = [Call(call.tool, json.loads(call.arguments_json)) for call in calls]
        wrong = self.environment.wrong_names(expected)
        untold = ()
        are_reference = None
        if dialogue is None:
            done = [call for call, ran in zip(made, calls, strict=True) if ran.error_type is None]
            missing = self.environment.missing_calls(expected, done)
        else:  # refused calls are among the reference actions too
            missing = missing_actions(expected.calls, made)
            are_reference = made == expected.calls
            untold = dialogue.untold(answer.text)
        is_passed = not wrong and not untold and (dialogue is not None or not missing)
        first = self._replies + 1
        self._replies = self._replies + answer.step_count
        return CaveTurnRow(
            run_id=self.setting.run_id,
            episode_id=self.episode_id,
            plan_digest=self.setting.plan_digest,
            attempt=self.episode.attempt,
            suite=self.case.suite,
            tier=self.case.tier,
            case_id=self.case.case_id,
            source=self.case.source,
            question=question,
            arm=self.episode.arm,
            instruction=self.setting.instruction,
            model_name=self.client.model_name,
            is_oracle=self.client.model_name == MODEL_NAME,
            replicate=self.episode.replicate,
            size=self.case.size,
            first_reply=first,
            reply_count=answer.step_count,
            call_count=len(calls),
            golden_call_count=sum(map(len, expected.stages)),
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            finish_reason=answer.stop,
            is_state_right=not wrong,
            has_required_calls=not missing,
            are_calls_reference=are_reference,
            is_passed=is_passed,
            reward=float(is_passed),
            judged_reward=heard.judged_reward,
            wrong_json=json.dumps([*wrong, *missing, *untold]),
            answer=answer.text,
            state_json=self.environment.state_json(expected),
        )


class _CodePlayer(_Player):
    """Plays with blocks of code."""

    def __init__(self, episode: CaseEpisode, client: ModelClient, setting: Setting) -> None:
        super().__init__(episode, client, setting)
        self._agent = Agent(
            self.client,
            spec=setting.spec,
            name=self.name,
            instructions=self.instructions,
            runtime=setting.runtime,
            contract=self.arm.interpreter_contract,
            tells_surroundings=False,
        )
        self._inject()
        self._trace = Trace(
            self._agent,
            run_id=setting.run_id,
            instance_id=self.case.case_id,
            scale=setting.scale,  # type: ignore[arg-type]
            replicate=self.episode.replicate,
            episode_id=self.episode_id,
        )
        self._calls: list[ToolCall] = []

    async def ask(self, question: str) -> tuple[Answer, list[ToolCall]]:
        """Ask, and take over the state that the interpreter keeps."""
        self._calls = []
        answer = await self._agent.ask_async(question, self._watch)
        if self.arm.tells_results:
            self.environment.take_told(answer.text)
        if self.arm.has_files:
            await asyncio.to_thread(self.environment.take_files, self._agent.get)
        if self.arm.keeps_variables:
            world = self.environment.world
            world.variables = await asyncio.to_thread(lambda: {name: self._held(name) for name in world.variables})
        return answer, self._calls

    def add(self, names: tuple[str, ...]) -> None:
        """Inject functions that come later."""
        for name in names:
            self._agent.inject(name, self.environment.world.functions[name])

    def finish(self, **fields: Any) -> RecordedEpisode:
        return self._trace.finish(**fields)

    def close(self) -> None:
        self._agent.close()

    def _inject(self) -> None:
        world = self.environment.world
        if self.arm.is_injected:
            for kind in world.types:
                self._agent.inject(kind.__name__, kind)
            for name, value in {**world.data, **world.variables}.items():
                self._agent.inject(name, value, description=world.descriptions.get(name, ""))
        if self.arm.has_files:
            for name, content in self.environment.files().items():
                self._agent.put(name, content)
        for name, function in self.environment.functions().items():
            self._agent.inject(name, function)
        for root, source in namespaces(world.namespaced).items():
            self._agent.runtime.idle.install(Binding(("define", root, source)), Injected(root, "type", "", source))

    def _watch(self, event: Event) -> None:
        self._trace.watch(event)
        if isinstance(event, Observed):
            self._calls += _calls_of(event)

    def _held(self, name: str) -> Any:
        try:
            return self._agent.retrieve(name)
        except (RetrievalError, *RUNTIME_FAULTS) as error:
            return {"not retrieved": str(error)}


class _CallPlayer(_Player):
    """Plays with native calls, and a Python session if any."""

    def __init__(self, episode: CaseEpisode, client: ModelClient, setting: Setting) -> None:
        super().__init__(episode, client, setting)
        self._close: Callable[[], None] = lambda: None
        python = None
        if self.arm.contract is not None:
            contract = self.arm.interpreter_contract
            interpreter = setting.runtime.open_interpreter(contract, {}, instance_id=self.name, tool_call_cap=None)
            python = RuntimeStream(interpreter)
            self._close = interpreter.close
        functions = self.environment.functions()
        self._recorder = EpisodeRecorder(setting.run_id, self.episode_id, functions)
        self._agent = CallingAgent(
            self.client,
            functions,
            setting.spec,
            name=self.name,
            instructions=self.instructions,
            schemas=self.environment.world.schemas,
            python=python,
        )
        self._answer: Answer | None = None
        self._started_at = datetime.now(UTC)

    async def ask(self, question: str) -> tuple[Answer, list[ToolCall]]:
        """Ask, and return the calls that reached the host."""
        calls: list[ToolCall] = []
        async for event in self._agent.play(question):
            if isinstance(event, Asked) and self._answer is None:
                self._recorder.record_opening(self._agent.messages)
            self._recorder.watch(event)
            if isinstance(event, Observed):
                calls += _calls_of(event)
            if isinstance(event, Answer):
                self._answer = event
        assert self._answer is not None, "the last event of a question is its answer"
        return self._answer, calls

    def add(self, names: tuple[str, ...]) -> None:
        """Offer functions that come later."""
        for name in names:
            self._agent.add(name, self.environment.world.functions[name], self.environment.world.schemas)

    def finish(self, **fields: Any) -> RecordedEpisode:
        assert self._answer is not None
        setting = self.setting
        declared = {"agent": "calls", "spec": setting.spec, "tools": self._agent.tools}
        common = conversation_fields(
            canonical_json(declared),
            setting.spec,
            self._answer,
            client=self.client,
            contract=self.arm.contract or "none",
            started_at=self._started_at,
        )
        has_python = self.arm.contract is not None
        return self._recorder.finish(
            {
                **common,
                "agent": "calls",
                "instance_id": self.case.case_id,
                "sandbox_level": setting.runtime.sandbox_level if has_python else "none",
                "backend": setting.runtime.backend if has_python else "host",
                "scale": setting.scale,
                "replicate": self.episode.replicate,
                "is_contract_verified": self._agent.is_verified,
                **fields,
            }
        )

    def close(self) -> None:
        self._close()


def _calls_of(event: Observed) -> tuple[ToolCall, ...]:
    if event.result is None:
        return ()
    return event.result.tool_calls
