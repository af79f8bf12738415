"""The reflection-action-observation loop of one episode (arXiv 2603.01209, section 3 and appendix B)."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tasks.agent.condition import Condition
from tasks.agent.declaration import declare_contract
from tasks.agent.episode_id import decoding_seed, episode_id
from tasks.agent.faults import FaultInjector
from tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    Message,
    ModelClient,
    ModelError,
)
from tasks.agent.recorder import EpisodeRecorder, RecordedEpisode, TurnNames
from tasks.agent.reply import parse_reply
from tasks.agent.spec import EpisodeSpec
from tasks.agent.variation import draw_variation
from tasks.agent.wire import PLAIN, RUNTIME_WORDS, Feedback, open_wire
from tasks.knapsack.environment import KnapsackEnvironment
from tasks.knapsack.instance import Instance
from tasks.runtime.protocol import CONTRACTS, BlockResult, Contract, Interpreter, Runtime
from tasks.traces.rows import ErrorKind, FinishReason

NO_BLOCK = "No code block found. Answer with a short reflection and exactly one fenced Python block."
CUT_OFF = (
    "The reply was cut off before its end (finish reason: {reason}), so nothing was run. "
    "Answer more briefly, with exactly one fenced Python block."
)
MORE_BLOCKS = "The message held {count} code blocks. Only the first was run; the others were dropped."

CountTokens = Callable[[Sequence[Message]], int]


class ContractViolationError(Exception):
    """The canary says that bindings do not live as the contract promises; the run must stop."""


class Ending(NamedTuple):
    """Why an episode ended."""

    reason: FinishReason
    error_message: str | None = None


async def run_episode(
    instance: Instance,
    condition: Condition,
    client: ModelClient,
    runtime: Runtime,
    spec: EpisodeSpec,
    *,
    run_id: str,
    plan_digest: str,
    scale: str,
    replicate: int = 0,
    attempt: int = 0,
    count_tokens: CountTokens | None = None,
) -> RecordedEpisode:
    """Play one episode to its end and return everything that happened as rows.

    Errors of agent code, of tools and of the model are observations or endings, never exceptions here. Bindings are
    verified before every step; a `ContractViolationError` must stop the run, and the episode is not recorded.

    Args:
        instance: The problem; only its capacity, budget and classes reach the model.
        condition: The cell that the episode belongs to.
        client: Who writes the replies.
        runtime: Where the interpreter of the episode is opened.
        spec: Turns, caps, limits, wording.
        run_id: Run that lands the rows.
        plan_digest: Digest of the plan; with condition, instance, replicate and attempt it makes the episode's id.
        scale: Scale of the plan: `smoke`, `laptop` or `paper`.
        replicate: Repetition with other decoding seeds.
        attempt: 0 for the first; an episode that ended with `error` runs again as the next.
        count_tokens: Tokens of a conversation by the training tokenizer, for `training_tokens`.
    """
    if condition.runtime_contract not in CONTRACTS:
        raise ValueError(f"unknown contract {condition.runtime_contract!r}; choose from {', '.join(CONTRACTS)}")
    contract = CONTRACTS[condition.runtime_contract]
    started_at, start = datetime.now(UTC), time.perf_counter()
    environment = KnapsackEnvironment(instance)
    interpreter = await asyncio.to_thread(
        runtime.open_interpreter,
        contract,
        environment.tools,
        instance_id=instance.instance_id,
        salt=f"{plan_digest}/{replicate}",
        tool_call_cap=spec.tool_call_cap,
    )
    name = episode_id(condition, instance.instance_id, plan_digest, replicate, attempt)
    episode = _Episode(
        instance,
        condition,
        client,
        interpreter,
        environment,
        spec=spec,
        name=name,
        run_id=run_id,
        replicate=replicate,
    )
    try:
        ending = await episode.play(deadline=asyncio.get_running_loop().time() + spec.timeout_seconds)
    finally:
        await asyncio.to_thread(interpreter.close)
    outcome = environment.outcome()
    return episode.recorder.finish(
        {
            **condition.model_dump(),
            "plan_digest": plan_digest,
            "scale": scale,
            "shown_contract": condition.shown_contract,
            "instance_id": instance.instance_id,
            "replicate": replicate,
            "attempt": attempt,
            "tool_call_cap": spec.tool_call_cap,
            "max_turns": spec.max_turns,
            "finish_reason": ending.reason,
            "score": outcome.score,
            "is_solved": outcome.is_solved,
            "value_taken": outcome.value_taken,
            "weight_taken": outcome.weight_taken,
            "taken_count": len(outcome.taken_item_ids),
            "inspected_count": outcome.inspected_count,
            "token_source": client.token_source,
            "training_tokens": None if count_tokens is None else count_tokens(episode.messages),
            "wall_seconds": time.perf_counter() - start,
            "started_at": started_at,
            "contract_json": declare_contract(contract, condition, spec, runtime),
            "sandbox_level": runtime.sandbox_level,
            "backend": runtime.backend,
            "is_contract_verified": True,
            "error_message": ending.error_message,
        }
    )


class _Episode:
    """The moving parts of one episode: conversation, interpreter, environment, recorder."""

    def __init__(
        self,
        instance: Instance,
        condition: Condition,
        client: ModelClient,
        interpreter: Interpreter,
        environment: KnapsackEnvironment,
        *,
        spec: EpisodeSpec,
        name: str,
        run_id: str,
        replicate: int,
    ) -> None:
        self._instance = instance
        self._condition = condition
        self._client = client
        self._interpreter = interpreter
        self._environment = environment
        self._spec = spec
        self._name = name
        self._replicate = replicate
        shown = condition.shown_contract
        self._variation = draw_variation(shown, instance.instance_id) if spec.varies_wording else PLAIN
        self._wire = open_wire(spec.prompt_set, self._variation)
        self._injector = None if spec.faults is None else FaultInjector(spec.faults, instance.instance_id)
        self._names = TurnNames()
        self._known_names: tuple[str, ...] = ()
        self._step = 0
        self.recorder = EpisodeRecorder(run_id, name)
        self.messages = self._wire.opening_messages(instance, shown, spec.tool_call_cap, self._header())
        self.recorder.record_opening(json.dumps([message.model_dump() for message in self.messages]))

    async def play(self, deadline: float) -> Ending:
        """Take turns until the episode ends; `deadline` is in the event loop's time."""
        for turn in range(1, self._spec.max_turns + 1):
            seed = decoding_seed(self._instance.instance_id, turn, self._replicate)
            try:
                async with asyncio.timeout_at(deadline):
                    completion = await self._complete(seed)
            except ContextOverflowError as error:
                self.recorder.record_model_error(turn, ErrorKind.MODEL, type(error).__name__, str(error))
                return Ending(FinishReason.CONTEXT_LENGTH, str(error))
            except ModelError as error:
                self.recorder.record_model_error(turn, ErrorKind.MODEL, type(error).__name__, str(error))
                return Ending(FinishReason.ERROR, str(error))
            except TimeoutError:
                return Ending(FinishReason.TIMEOUT)
            ending = await self._answer(turn, seed, completion, deadline)
            if ending is not None:
                return ending
        return Ending(FinishReason.MAX_TURNS)

    async def _complete(self, seed: int) -> Completion:
        return await self._client.complete(
            CompletionRequest(
                messages=tuple(self.messages),
                seed=seed,
                episode_id=self._name,
                temperature=self._spec.temperature,
                max_completion_tokens=self._spec.max_completion_tokens,
            )
        )

    async def _answer(self, turn: int, seed: int, completion: Completion, deadline: float) -> Ending | None:
        """Run the reply's block, record the turn, and tell whether that ended the episode."""
        reply = parse_reply(completion.text)
        if completion.finish_reason != "stop":
            feedback = Feedback(is_success=False, error=CUT_OFF.format(reason=completion.finish_reason))
            self.recorder.record_model_error(turn, ErrorKind.MODEL, "ReplyCutOff", feedback.error or "")
        elif reply.code is None:
            feedback = Feedback(is_success=False, error=NO_BLOCK)
            self.recorder.record_model_error(turn, ErrorKind.PROTOCOL, "NoCodeBlock", NO_BLOCK)
        else:
            note = MORE_BLOCKS.format(count=reply.block_count) if reply.block_count > 1 else None
            feedback = _feedback(await asyncio.to_thread(self._run_step, turn, reply.code), note)
        ending = self._ending(turn, deadline)
        observation = None if ending else self._wire.observation(feedback, self._header())
        self.recorder.record_turn(
            turn,
            reply,
            completion,
            observation=observation,
            seed=seed,
            has_system_note=feedback.system_note is not None,
            names=self._names,
        )
        self.messages.append(Message(role="assistant", content=reply.kept_text))
        if observation is not None:
            self.messages.append(Message(role="user", content=observation))
        return ending

    def _ending(self, turn: int, deadline: float) -> Ending | None:
        """Tell whether the episode is over after a turn: `finish` in the last turn is a normal end."""
        if self._environment.is_finished:
            return Ending(FinishReason.FINISH_TOOL)
        if asyncio.get_running_loop().time() >= deadline:
            return Ending(FinishReason.TIMEOUT)
        if turn == self._spec.max_turns:
            return Ending(FinishReason.MAX_TURNS)
        return None

    def _run_step(self, turn: int, code: str) -> BlockResult:
        """Verify the contract, run the block, and record the step; called in a thread."""
        if not self._interpreter.verify_contract():
            contract: Contract = self._interpreter.contract
            raise ContractViolationError(
                f"episode {self._name}, turn {turn}: bindings do not live as contract {contract.name!r} promises "
                f"(lifetime {contract.lifetime!r}); its rows are left out and the run stops"
            )
        self._step += 1
        active_before = self._names.active_globals
        if self._injector is not None:
            self._injector.before_step(self._step, code, active_before, self, self._environment)
        result = self._interpreter.run_block(code)
        fault = None if self._injector is None else self._injector.after_step(result, self._environment)
        self.recorder.record_step(turn, code, result, active_before, fault)
        self._known_names = self._names.active_globals
        self._names = TurnNames(result.active_globals, result.last_step_globals)
        return result

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block, on the injector's behalf; tell whether it was there."""
        was_there = self._interpreter.drop_name(name)
        if was_there:
            self.recorder.record_drop(self._step, name)
        return was_there

    def _header(self) -> dict[str, Any] | None:
        """Return the runtime header as the shown contract words it (arXiv 2603.01209, listing 1)."""
        if self._condition.header == "none":
            return None
        shown = self._condition.shown_contract
        if shown == self._condition.runtime_contract:
            active = self._names.active_globals
        else:
            active = self._names.last_step_globals if shown == "persistent" else ()
        standard = {
            "runtime": RUNTIME_WORDS.get(shown, shown),
            "active_globals": list(active),
            "last_step_globals": list(self._names.last_step_globals),
        }
        return self._variation.header(standard, self._known_names)


def _feedback(result: BlockResult, system_note: str | None) -> Feedback:
    return Feedback(
        is_success=result.error is None,
        output=result.output,
        result=result.result,
        error=None if result.error is None else result.error.message,
        notices=result.notices,
        system_note=system_note,
    )
