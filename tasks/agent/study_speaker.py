"""The study's speaker: prompts, header, and work around each block."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from string import Template
from typing import Any, TypeVar

from carryover.tasks.agent.condition import Condition, decoding_seed
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.events import Acted
from carryover.tasks.agent.family import Environment
from carryover.tasks.agent.faults import FailingTools, FaultInjector
from carryover.tasks.agent.prompt_format import RUNTIME_WORDS, CompactWire, Feedback, Opening, StudyWire
from carryover.tasks.agent.protocol import Completion, CompletionRequest, Message
from carryover.tasks.agent.recorder import EpisodeRecorder, TurnNames
from carryover.tasks.agent.reply import Reply, read_reply
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.agent.speaker import Speaker
from carryover.tasks.agent.stops import RUNTIME_FAULTS
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.services.errors import UserError

_NO_BLOCK = "No code block found. Answer with a short reflection and exactly one fenced Python block."
_TEXTS = {
    "cut_off": "The reply was cut off before its end (finish reason: $reason), so nothing was run. "
    "Answer more briefly, with exactly one fenced Python block.",
    "no_block": _NO_BLOCK,
    "more_blocks": "The message held $count code blocks. Only the first was run; the others were dropped.",
    "stopped_finish_tool": "",
    "stopped_max_turns": "",
    "stopped_max_tokens": "",
    "stopped_context_length": "$error",
    "stopped_error": "$error",
    "stopped_timeout": "the episode was not over after $seconds s (timeout_seconds)",
}
Result = TypeVar("Result")


class ContractViolationError(UserError):
    """The interpreter broke its contract, so the run must stop."""


class StudySpeaker(Speaker):
    """Speaks in the study's protocol (arXiv 2603.01209, section 3 and appendix B).

    The interpreter opens in a thread while the first reply is waited for.
    """

    goes_on = False
    idle_ends = False

    def __init__(
        self,
        condition: Condition,
        spec: EpisodeSpec,
        environment: Environment,
        wire: StudyWire | CompactWire,
        opening: Opening,
        *,
        instance_id: str,
        replicate: int = 0,
        episode_id: str = "episode",
    ) -> None:
        self._condition = condition
        self._spec = spec
        self._environment = environment
        self._wire = wire
        self._instance_id = instance_id
        self._replicate = replicate
        self._episode_id = episode_id
        self._tools = FailingTools(environment.tools)
        self._injector = None
        if spec.faults is not None:
            self._injector = FaultInjector(spec.faults, instance_id, self._tools)
        self._names = TurnNames()
        self._known_names: tuple[str, ...] = ()
        self._turn = 1
        self._step = 0
        self._opening: asyncio.Future[RuntimeStream] | None = None
        self.messages: list[Message] = wire.opening_messages(opening, self._header())
        """The conversation so far."""

    def open(
        self,
        runtime: Runtime,
        recorder: EpisodeRecorder,
        *,
        salt: str,
        opening_threads: Executor | None,
        block_threads: Executor | None,
    ) -> None:
        """Begin to start the interpreter.

        The sandbox learns the tools' names and documentation alone.
        """
        tools = self._environment.tools if self._injector is None else self._tools.tools

        def open_stream() -> RuntimeStream:
            interpreter = runtime.open_interpreter(
                contract_in_force(self._condition, self._spec),
                tools,
                instance_id=self._instance_id,
                salt=salt,
                tool_call_cap=self._spec.tool_call_cap,
            )
            recorder.follow(interpreter)
            return RuntimeStream(interpreter, block_threads)

        self._opening = _begin(open_stream, opening_threads)

    async def close(self, recorder: EpisodeRecorder, threads: Executor | None) -> None:
        """End the interpreter, if started, and record its last events."""
        if self._opening is None:
            return
        with suppress(*RUNTIME_FAULTS):  # the episode has ended with it, where a block was to run
            stream = await self._opening
            await _begin(partial(_close, stream.interpreter, recorder), threads)

    def ask(self) -> None:
        """Ask nothing: the task stands in the opening messages."""

    def request(self) -> CompletionRequest:
        """Return the whole conversation, with a seed that is equal across cells."""
        return CompletionRequest(
            messages=tuple(self.messages),
            seed=decoding_seed(self._instance_id, self._turn, self._replicate),
            episode_id=self._episode_id,
            temperature=self._spec.temperature,
            max_completion_tokens=self._spec.max_completion_tokens,
        )

    def read(self, completion: Completion) -> Reply:
        """Return the first block; an unclosed one counts as none."""
        return read_reply(completion.text)._replace(is_unclosed=False)

    def keep(self, reply: Reply, completion: Completion) -> None:
        """Keep a reply up to the end of its first block."""
        self.messages.append(Message(role="assistant", content=reply.kept_text))
        self._turn += 1

    async def act(self, reply: Reply) -> Acted:
        """Run the first block; raise `ContractViolationError` where bindings break the contract."""
        assert self._opening is not None, "the episode has no interpreter; call open first"
        stream = await self._opening
        acted = await stream.run(reply.code or "", self._run_block)
        self._known_names = self._names.active_globals
        self._names = TurnNames(acted.result.active_globals, acted.result.last_step_globals)
        return acted

    def is_over(self) -> bool:
        """Tell whether the agent has finished, also past the limits."""
        return self._environment.is_over

    def observe(self, reply: Reply, acted: Acted) -> str:
        """Tell what a block came to, and that others were dropped."""
        result = acted.result
        error = acted.result.error
        note = None
        if reply.block_count > 1:
            note = self.fill("more_blocks", count=reply.block_count)
        return self._tell(
            Feedback(
                is_success=error is None,
                output=result.output,
                result=result.result,
                error=None if error is None else error.message,
                notices=result.notices,
                violations=() if error is None else error.violations,
                system_note=note,
            )
        )

    def refuse(self, text: str) -> str:
        """Tell why no block ran."""
        return self._tell(Feedback(is_success=False, error=text))

    def fill(self, name: str, /, **values: object) -> str:
        """Return a protocol text; an end's is the error message."""
        return Template(_TEXTS[name]).substitute(seconds=f"{self._spec.timeout_seconds:g}", **values)

    def _tell(self, feedback: Feedback) -> str:
        text = self._wire.observation(feedback, self._header())
        self.messages.append(Message(role="user", content=text))
        return text

    def _run_block(self, interpreter: Interpreter, code: str) -> Acted:
        """Verify the contract and run a block; called in a thread."""
        if not interpreter.verify_contract():
            contract = interpreter.contract
            raise ContractViolationError(
                f"instance {self._instance_id}, turn {self._turn - 1}: bindings do not live as contract "
                f"{contract.name!r} promises (lifetime {contract.lifetime!r}); "
                "the episode is left out and the run stops"
            )
        self._step += 1
        dropped = None
        if self._injector is not None:
            active = self._names.active_globals
            dropped = self._injector.before_step(self._step, code, active, interpreter.drop_name)
        if interpreter.contract.binds == "environment":
            interpreter.inject_all(self._environment.known())
        result = interpreter.run_block(code)
        fault = None if self._injector is None else self._injector.after_step(result)
        return Acted(
            code,
            result,
            is_verified=True,
            injected_fault=fault,
            dropped_names=() if dropped is None else (dropped,),
        )

    def _header(self) -> dict[str, Any] | None:
        """Return the runtime header (arXiv 2603.01209, listing 1), or None.

        A condition whose header shows no names keeps the word for the runtime and drops the lists.
        """
        shown = self._condition.shown_contract
        standard = {
            "runtime": RUNTIME_WORDS.get(shown, shown),
            "active_globals": list(self._shown_globals()),
            "last_step_globals": list(self._names.last_step_globals),
        }
        header = self._wire.variation.header(standard, self._known_names)
        if header is None or self._condition.header == "names":
            return header
        return {"runtime": header["runtime"]}

    def _shown_globals(self) -> tuple[str, ...]:
        """Return the living names as the shown contract has them."""
        shown = self._condition.shown_contract
        if shown == self._condition.runtime_contract:
            return self._names.active_globals
        if lifetime_of(self._condition.defined(shown)).keeps == "nothing":
            return ()
        return self._names.last_step_globals


def contract_in_force(condition: Condition, spec: EpisodeSpec) -> Contract:
    """Return an episode's contract, with the scope of stateless bindings."""
    contract = condition.defined(condition.runtime_contract)
    has_scope_of_its_own = contract in condition.own_contracts
    if contract.lifetime != "block" or has_scope_of_its_own:
        return contract
    return contract.model_copy(update={"scope": spec.stateless_scope})


def _close(interpreter: Interpreter, recorder: EpisodeRecorder) -> None:
    try:
        recorder.record_runtime_events()
    finally:
        interpreter.close()


def _begin(work: Callable[[], Result], threads: Executor | None) -> asyncio.Future[Result]:
    """Begin blocking work in a thread, so that other episodes go on."""
    return asyncio.get_running_loop().run_in_executor(threads, work)
