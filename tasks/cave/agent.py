"""The agent for library users (arXiv 2601.01569, section 3)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from carryover.tasks.agent.events import Answer, Event
from carryover.tasks.agent.machine import EpisodeMachine
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.agent.stops import RUNTIME_FAULTS
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.allowance import Allowance
from carryover.tasks.cave.connecting import Connection
from carryover.tasks.cave.conversation import SemanticStream
from carryover.tasks.cave.opening import open_interpreter
from carryover.tasks.cave.returns import Expected, expect
from carryover.tasks.cave.saved import Restored, SavedAgent, SaveFile, bring_about
from carryover.tasks.cave.skills import Skill, find_skills, use_skill_of
from carryover.tasks.cave.speaker import CaveSpeaker, LoopState, question_limits
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.gate import By, RunsIn
from carryover.tasks.runtime.results import Display
from carryover.tasks.runtime.state import Progress
from carryover.tasks.services import background
from carryover.tasks.traces.vocabulary import Backend, ContractName, FinishReason

Watch = Callable[[Event], None]
OnText = Callable[[str], None]


class Agent:
    """An agent whose memory is a Python interpreter.

    Objects go in with `inject` and come out with `retrieve`; the model sees names, types and signatures, and what its
    blocks print. Functions run on the host; with `runs_in="sandbox"` their source runs beside the objects.

        agent = Agent(model="qwen3-8b", endpoint="http://127.0.0.1:8000/v1")
        agent.inject("orders", frame, description="One row per order.")
        print(agent.ask("Sum the amounts by customer into a frame named totals."))
        totals = agent.retrieve("totals")
    """

    def __init__(
        self,
        model: str | ModelClient,
        *,
        endpoint: str | None = None,
        api_key_variable: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        request_timeout_seconds: float = 300.0,
        max_retries: int = 3,
        backend: Backend | None = None,
        spec: AgentSpec = AgentSpec(),  # noqa: B008 - immutable
        name: str | None = None,
        instructions: str = "",
        skills: Path | str | None = None,
        save_to: Path | str | None = None,
        runtime: Runtime | None = None,
        contract: str | Contract = ContractName.PERSISTENT,
        tells_surroundings: bool = True,
    ) -> None:
        """Open the interpreter; raise `ValueError` for a model name without an endpoint.

        Args:
            model: Name under which the endpoint knows the model, or a client such as `scripted(...)`.
            endpoint: Address of an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:8000/v1`.
            api_key_variable: Environment variable that holds the endpoint's key; None for an endpoint without one.
            api_key: The key itself, which is never recorded.
            headers: Sent with every request.
            extra_body: Fields of a request beside the standard ones.
            request_timeout_seconds: Limit of one request.
            max_retries: Further attempts after a connection error, a timeout, 408, 409, 429 or 5xx.
            backend: `fork_tree` or `jupyter`; default: that of `spec.runtime`.
            spec: Budgets, sampling, sandbox, static policy.
            name: Names the agent in traces, and seeds its sampling and its blocks' random draws. Without one, draws
                differ from agent to agent; the salt is in the journal.
            instructions: Further lines of the system message.
            skills: Folder of Agent Skills: one folder with a `SKILL.md` for each.
            save_to: File that is written before and after every block; `Agent.resume` goes on from it.
            runtime: A worker's runtime to share; it stays open. Default: one of the agent's own.
            contract: What becomes of names after a block; `stateless` binds injected objects anew before each. A
                `Contract` of your own says more, e.g. about files.
            tells_surroundings: Tell the model which files, network, time and libraries its blocks have.
        """
        self.spec = spec.with_backend(backend)
        self.instructions = instructions
        self.tells_surroundings = tells_surroundings
        connection = Connection(
            endpoint=endpoint,
            api_key_variable=api_key_variable,
            api_key=api_key,
            headers=headers,
            extra_body=extra_body,
            request_timeout_seconds=request_timeout_seconds,
            max_retries=max_retries,
        )
        self.client = connection.client(model)
        self.loop_state = LoopState(name or "agent")
        self.text = SemanticStream()
        self.skills: dict[str, Skill] = {} if skills is None else find_skills(Path(skills))
        self.restored: Restored | None = None
        """After `resume`: what came back, and what did not."""
        self._save_file = None
        if save_to is not None:
            self._save_file = SaveFile(Path(save_to))
        opened = open_interpreter(self.spec.runtime, contract, name, runtime)
        self.worker = opened.worker
        self.runtime = RuntimeStream(opened.interpreter)
        self._ends = opened.ends
        self._branch_count = 0
        self._is_answering = False
        if skills is not None:
            self.inject("use_skill", use_skill_of(self.skills))

    def inject(
        self,
        name: str,
        value: Any,
        *,
        description: str = "",
        runs_in: RunsIn = "host",
        by: By | None = None,
        allow: Iterable[str] | None = None,
    ) -> None:
        """Bind a variable, a function or a type in the interpreter.

        The model is told its name, type and documentation. `by="reference"` keeps a live object in the host, where
        blocks reach its public methods and attributes, or those that `allow` names.

        Raises:
            InjectionError: The object does not travel, or the name is not a valid identifier.
            BusyError: A block is running.
        """
        self.runtime.idle.inject(name, value, description=description, runs_in=runs_in, by=by, allow=allow)

    def retrieve(self, name: str) -> Any:
        """Return a variable as a native object; nothing is unpickled.

        Raises:
            RetrievalError: There is no such variable, or it holds what does not travel.
            BusyError: A block is running.
        """
        return self.runtime.idle.retrieve(name)

    def put(self, path: Path | str, content: bytes | None = None) -> None:
        """Put a host file, or a content, into the working directory.

        Raises:
            InjectionError: There are no files here, the path leads out of the directory, or the file is too large.
            OSError: The host's file cannot be read.
            BusyError: A block is running.
        """
        self.runtime.idle.put(path, content)

    def get(self, path: Path | str) -> bytes:
        """Return a file of the working directory, or raise `RetrievalError`."""
        return self.runtime.idle.get(path)

    def files(self) -> dict[str, int]:
        """Return the sizes of the working directory's files, by path."""
        return self.runtime.idle.files()

    def figures(self) -> tuple[Display, ...]:
        """Return the last blocks' figures as PNG and SVG, in order."""
        return self.runtime.idle.figures()

    def variables(self) -> dict[str, str]:
        """Return the model's variables with the names of their types."""
        injected = {entry.name for entry in self.runtime.idle.injected}
        return {name: kind for name, kind in self.runtime.idle.variables().items() if name not in injected}

    def ask(
        self,
        question: str,
        watch: Watch | None = None,
        *,
        returns: Any = None,
        result_name: str = "result",
        attempts: int = 3,
        on_text: OnText | None = None,
    ) -> Answer:
        """Return the answer to a question.

        Whatever goes wrong on the way ends the answer with a stop reason; see `Answer.stop`.

        Args:
            question: What to do.
            watch: Gets every event.
            returns: Type of a result that the agent must bind: any that Pydantic validates, or the columns of a frame
                by name, each with the type of its cells. The validated value is `Answer.value`.
            result_name: Name that it is bound to.
            attempts: Wrong results that are told to the model before the answer is given up.
            on_text: Gets the text of replies as the endpoint writes them.

        Raises:
            BusyError: The agent is answering another question.
            ValueError: Nothing can be validated as `returns`.
        """
        expected = expect(returns, result_name, attempts, self.runtime)
        return background.wait_for(self.answer(question, watch, expected, on_text))

    async def ask_async(
        self,
        question: str,
        watch: Watch | None = None,
        *,
        returns: Any = None,
        result_name: str = "result",
        attempts: int = 3,
        on_text: OnText | None = None,
    ) -> Answer:
        """Return what `ask` returns, on any event loop.

        Cancelling it leaves a running block to its end; `go_on` continues the question with what the block showed.
        """
        expected = expect(returns, result_name, attempts, self.runtime)
        work = self.answer(question, watch, expected, on_text)
        return await asyncio.wrap_future(background.submit(work))

    async def answer(
        self,
        question: str | None,
        watch: Watch | None = None,
        expected: Expected | None = None,
        on_text: OnText | None = None,
    ) -> Answer:
        """Return the answer to a question, on the agents' own event loop."""
        event: Event | None = None
        async for event in self.play(question, expected=expected, on_text=on_text):
            if watch is not None:
                watch(event)
        assert isinstance(event, Answer)
        if expected is None or event.stop is not FinishReason.ANSWER:
            return event
        return replace(event, value=expected.value)

    def go_on(self, watch: Watch | None = None) -> Answer:
        """Return the answer to a question that an interruption left open."""
        return background.wait_for(self.answer(None, watch))

    def stream(self, question: str) -> AsyncIterator[Event]:
        """Yield the events of a question as they come, the `Answer` last."""
        return background.stream(self.play(question))

    async def play(
        self, question: str | None, *, expected: Expected | None = None, on_text: OnText | None = None
    ) -> AsyncIterator[Event]:
        """Yield a question's events on the agents' own event loop.

        Raise `BusyError` during another one.
        """
        if self._is_answering:
            way_out = "wait for its end, or ask a branch or a peer"
            raise BusyError(f"{self.loop_state.name} is answering another question; {way_out}")
        self._is_answering = True
        try:
            await self.runtime.settle()  # a cancelled question's block tells its end first
            allowance = Allowance(self.runtime, self.spec.timeout_seconds, self.spec.max_tokens)
            async for event in self._machine(question, expected, on_text, allowance).play():
                yield event
        finally:
            self._is_answering = False

    def _machine(
        self, question: str | None, expected: Expected | None, on_text: OnText | None, allowance: Allowance
    ) -> EpisodeMachine:
        speaker = CaveSpeaker(
            question,
            self.text,
            self.runtime,
            self.loop_state,
            self.spec,
            self.instructions,
            {name: skill.description for name, skill in self.skills.items()},
            self._checkpoint,
            expected=expected,
            allowance=allowance,
            on_text=on_text,
            tells_surroundings=self.tells_surroundings,
        )
        return EpisodeMachine(self.client, speaker, question_limits(self.spec))

    def branch(self, count: int) -> list["Agent"]:
        """Return agents that continue from the present state.

        Each has decoding seeds and random draws of its own. A variable that one of them changes is unchanged in the
        others. They end with the agent that they come from.
        """
        return [self._branch() for _ in range(count)]

    def peer(self, name: str, *, model: ModelClient | None = None, instructions: str = "") -> "Agent":
        """Return an agent with its own conversation on the same interpreter.

        Each sees what the others bind. It ends with the agent that it comes from.
        """
        other = self._derived(name, self.runtime)
        other.client = self.client if model is None else model
        other.instructions = instructions
        return other

    def save(self, path: Path | str) -> None:
        """Write conversation, injected objects and journal to one file."""
        SaveFile(Path(path)).write(self._saved())

    @classmethod
    def resume(
        cls,
        path: Path | str,
        model: str | ModelClient,
        *,
        functions: dict[str, Any] | None = None,
        types: dict[str, type] | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Self:
        """Return an agent that resumes from a saved file.

        Its blocks run again with their recorded function results. What could not be restored is named to the model
        before its next step, and in `restored`.

        Args:
            path: File written by `save`, or by an agent with `save_to`, also one that was killed.
            model: As for a new agent.
            functions: Host functions and live objects by name: the file does not hold them.
            types: Injected types by name, so that their instances come back as such.
            progress: Hears how many blocks have run again, and of how many.
            options: Further arguments of `Agent`; without `save_to` the resumed agent writes no file.
        """
        saved = SavedAgent.read(Path(path))
        kept = {"spec": saved.spec, "name": saved.loop_state.name, "contract": saved.journal.contract}
        agent = cls(model, **(kept | options))
        offered = dict(functions or {})
        if agent.skills:
            offered["use_skill"] = use_skill_of(agent.skills)
        try:
            agent.restored = bring_about(saved, agent.runtime.idle, offered, types or {}, progress)
        except BaseException:
            agent.close()
            raise
        agent.text = saved.text()
        agent.loop_state = saved.loop_state.resumed(agent.restored.notes())
        return agent

    def close(self) -> None:
        """End the interpreter, with the runtime and branches of this agent.

        A peer's interpreter stays.
        """
        with suppress(*RUNTIME_FAULTS):  # a sandbox that has died needs no end
            self._ends.close()

    def __enter__(self) -> Self:
        """Return the agent itself."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Close it."""
        self.close()

    def _branch(self) -> "Agent":
        interpreter = self.runtime.idle.branch()
        other = self._derived(f"{self.loop_state.name}/{self._branch_count}", RuntimeStream(interpreter))
        self._branch_count += 1
        other.text = self.text.copy()
        other.loop_state = self.loop_state.copy(other.loop_state.name)
        other._ends.callback(interpreter.close)
        return other

    def _derived(self, name: str, runtime: RuntimeStream) -> "Agent":
        """Return an agent of the same settings that has said nothing yet."""
        other = copy(self)
        other.runtime = runtime
        other.text = SemanticStream()
        other.loop_state = LoopState(name)
        other.restored = None
        other._ends = ExitStack()
        self._ends.callback(other._ends.close)
        other._save_file = None
        other._branch_count = 0
        other._is_answering = False
        return other

    def _checkpoint(self) -> None:
        if self._save_file is not None:
            self._save_file.write(self._saved())

    def _saved(self) -> SavedAgent:
        return SavedAgent.of(self.spec, self.loop_state, self.text, self.runtime.interpreter)
