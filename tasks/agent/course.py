"""The course of one episode: turn after turn until it ends (arXiv 2603.01209, section 3)."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from carryover.tasks.agent.condition import Condition, decoding_seed, episode_id
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.prompt_format import PLAIN, Feedback, open_wire
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    CountTokens,
    Message,
    ModelClient,
    ModelError,
    ReplyNotKeptError,
)
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.agent.reply import Reply, parse_reply
from carryover.tasks.agent.stepper import Stepper
from carryover.tasks.agent.variation import draw_variation
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.services.text import encodable
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason, RunScale

NO_BLOCK = "No code block found. Answer with a short reflection and exactly one fenced Python block."
CUT_OFF = (
    "The reply was cut off before its end (finish reason: {reason}), so nothing was run. "
    "Answer more briefly, with exactly one fenced Python block."
)
MORE_BLOCKS = "The message held {count} code blocks. Only the first was run; the others were dropped."

RUNTIME_FAULTS = (OSError, EOFError, NodeGoneError, SandboxStartError, StateLostError)
"""Errors of a worker's runtime out of processes, files or memory: they end the episode, not the worker."""

Result = TypeVar("Result")


class Ending(NamedTuple):
    """Why an episode ended."""

    reason: FinishReason
    error_message: str | None = None
    stop: Exception | None = None
    """Exception that stops the run once the episode is handed over."""


class PlannedEpisode(NamedTuple):
    """An episode that is still to be run."""

    instance: Instance
    replicate: int = 0
    """Repetition with other decoding seeds."""
    attempt: int = 0
    """0 for the first; an episode that ended with `error` runs again as the next."""


@dataclass(frozen=True)
class EpisodeContext:
    """Fields that the episodes of one condition share."""

    condition: Condition
    client: ModelClient
    runtime: Runtime
    spec: EpisodeSpec
    run_id: str
    plan_digest: str
    stage_digest: str
    """Identity of the stage; with condition, instance, replicate and attempt it makes the episode's id."""
    scale: RunScale
    count_tokens: CountTokens | None = None
    """Tokens of a conversation by the training tokenizer, for `training_tokens`."""
    concurrency: int = 1
    """Episodes played at a time at most."""
    block_threads: Executor | None = None
    """A thread for each episode: blocks that run long would hold up the others. None for the event loop's own."""
    opening_threads: Executor | None = None
    """A thread for each processor: many at once would keep the event loop from sending the first requests."""


class EpisodeCourse:
    """The moving parts of one episode: conversation, environment, stepper, recorder."""

    def __init__(self, context: EpisodeContext, episode: PlannedEpisode) -> None:
        condition, spec = context.condition, context.spec
        self._context, self._spec = context, spec
        self._replicate = episode.replicate
        self._instance_id = episode.instance.instance_id
        self._name = episode_id(condition, self._instance_id, context.stage_digest, episode.replicate, episode.attempt)
        shown = condition.shown_contract
        variation = draw_variation(shown, self._instance_id) if spec.varies_wording else PLAIN
        self.recorder = EpisodeRecorder(context.run_id, self._name)
        self.environment = KnapsackEnvironment(episode.instance)
        self.stepper = Stepper(self.environment, condition, self.recorder, variation, spec.faults, self._instance_id)
        self._wire = open_wire(spec.prompt_set, variation)
        header = self.stepper.header()
        self.messages = self._wire.opening_messages(episode.instance, shown, spec.tool_call_cap, header)
        self.recorder.record_opening(json.dumps([message.model_dump() for message in self.messages]))

    async def play(self) -> Ending:
        """Take turns until the episode ends, with an interpreter that opens while the first reply is waited for."""
        context = self._context
        self._deadline = asyncio.get_running_loop().time() + self._spec.timeout_seconds
        salt = f"{context.stage_digest}/{self._replicate}"
        open_interpreter = partial(self.stepper.open, context.runtime, self._spec, salt=salt)
        self._opening = _begin(open_interpreter, context.opening_threads)
        try:
            for turn in range(1, self._spec.max_turns + 1):
                if (ending := await self._take_turn(turn)) is not None:
                    return ending
            return Ending(FinishReason.MAX_TURNS)
        except RUNTIME_FAULTS as error:
            return Ending(FinishReason.ERROR, f"the runtime failed: {type(error).__name__}: {error}")
        finally:
            with suppress(*RUNTIME_FAULTS):  # told above, where a block was to run
                await self._opening
            await _begin(self.stepper.close, context.block_threads)

    async def _take_turn(self, turn: int) -> Ending | None:
        """Ask for a reply, answer it, and return whether that ended the episode."""
        if self._spec.max_tokens is not None and self.recorder.token_count >= self._spec.max_tokens:
            return Ending(FinishReason.MAX_TOKENS)
        seed = decoding_seed(self._instance_id, turn, self._replicate)
        request = CompletionRequest(
            messages=tuple(self.messages),
            seed=seed,
            episode_id=self._name,
            temperature=self._spec.temperature,
            max_completion_tokens=self._spec.max_completion_tokens,
        )
        start = time.perf_counter()
        try:
            async with asyncio.timeout_at(self._deadline):
                completion = await self._context.client.complete(request)
        except ModelError as error:
            self.recorder.record_wait(time.perf_counter() - start)
            self.recorder.record_turn_error(turn, ErrorKind.MODEL, type(error).__name__, str(error))
            is_overflow = isinstance(error, ContextOverflowError)
            return Ending(FinishReason.CONTEXT_LENGTH if is_overflow else FinishReason.ERROR, str(error))
        except ReplyNotKeptError as error:
            completion = error.completion._replace(text=encodable(error.completion.text))
            reply, names = parse_reply(completion.text), self.stepper.names
            self.recorder.record_turn(turn, reply, completion, observation=None, seed=seed, names=names)
            return Ending(FinishReason.ERROR, str(error), stop=error)
        except TimeoutError:
            self.recorder.record_wait(time.perf_counter() - start)
            return self._give_up()
        return await self._answer(turn, seed, completion)

    def _give_up(self) -> Ending:
        limit = f"{self._spec.timeout_seconds:g} s"
        return Ending(FinishReason.ERROR, f"the episode was not over after {limit} (timeout_seconds)")

    async def _answer(self, turn: int, seed: int, completion: Completion) -> Ending | None:
        """Run the reply's block, record the turn, and continue with the observation unless the episode is over."""
        completion = completion._replace(text=encodable(completion.text))
        reply = parse_reply(completion.text)
        feedback, ending, is_over = Feedback(is_success=False), None, True
        try:
            await self._opening
            feedback = await self._respond(turn, reply, completion.finish_reason)
            if self.environment.is_finished:  # counts also in the last turn and past the deadline
                ending = Ending(FinishReason.FINISH_TOOL)
            elif asyncio.get_running_loop().time() >= self._deadline:
                ending = self._give_up()
            is_over = ending is not None or turn == self._spec.max_turns
        finally:  # the reply was paid for, also when the runtime fails under it
            observation = None if is_over else self._wire.observation(feedback, self.stepper.header())
            self.recorder.record_turn(
                turn,
                reply,
                completion,
                observation=observation,
                seed=seed,
                has_system_note=feedback.system_note is not None,
                names=self.stepper.names,
            )
        self.messages.append(Message(role="assistant", content=reply.kept_text))
        if observation is not None:
            self.messages.append(Message(role="user", content=observation))
        return ending

    async def _respond(self, turn: int, reply: Reply, model_finish_reason: str) -> Feedback:
        """Run the first block of a reply, and return the feedback on it or on its absence."""
        if model_finish_reason != "stop":
            message = CUT_OFF.format(reason=model_finish_reason)
            self.recorder.record_turn_error(turn, ErrorKind.MODEL, "ReplyCutOff", message)
            return Feedback(is_success=False, error=message)
        if reply.code is None:
            self.recorder.record_turn_error(turn, ErrorKind.PROTOCOL, "NoCodeBlock", NO_BLOCK)
            return Feedback(is_success=False, error=NO_BLOCK)
        result = await _begin(partial(self.stepper.run, turn, reply.code), self._context.block_threads)
        return Feedback(
            is_success=result.error is None,
            output=result.output,
            result=result.result,
            error=None if result.error is None else result.error.message,
            notices=result.notices,
            violations=() if result.error is None else result.error.violations,
            system_note=MORE_BLOCKS.format(count=reply.block_count) if reply.block_count > 1 else None,
        )


def _begin(work: Callable[[], Result], threads: Executor | None) -> asyncio.Future[Result]:
    """Begin to wait for the interpreter without holding up the other episodes."""
    return asyncio.get_running_loop().run_in_executor(threads, work)
