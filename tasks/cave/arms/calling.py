"""Native function calling: the model calls functions by JSON, and ends a question with a reply that calls none."""

import asyncio
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    FunctionCall,
    Message,
    ModelClient,
    ModelError,
)
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.agent.reply import Reply
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.events import Answer
from carryover.tasks.cave.loop import stop_of
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.runtime_stream import RuntimeStream
from carryover.tasks.runtime.results import BlockError, BlockResult, ToolCall
from carryover.tasks.runtime.tools import ToolTable
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason

EXECUTE = "execute_python"
_EXECUTE_TOOL = {
    "type": "function",
    "function": {
        "name": EXECUTE,
        "description": "Run Python in a session of its own, which keeps its names; "
        "returns what it printed and its last value.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
}
_SYSTEM = """You solve tasks by calling functions.

- Never write down results that you were not shown.
- When nothing is left to call, reply in plain text: that ends the task.
"""
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class CallResult(NamedTuple):
    """Outcome of one call."""

    told: str
    code: str
    """The call as Python."""
    error: BlockError | None = None


class CallingAgent:
    """A conversation with an endpoint that calls host functions, recorded in the tables of the other agents."""

    def __init__(
        self,
        client: ModelClient,
        functions: dict[str, Callable[..., Any]],
        recorder: EpisodeRecorder,
        spec: AgentSpec,
        *,
        name: str,
        instructions: str = "",
        schemas: dict[str, dict[str, Any]] | None = None,
        python: RuntimeStream | None = None,
    ) -> None:
        """Begin a conversation; `python` is the interpreter behind `execute_python`, None for an arm without it."""
        self.client, self.spec, self.name = client, spec, name
        self.tools = tuple(_offer(name, function, schemas or {}) for name, function in functions.items())
        if python is not None:
            self.tools += (_EXECUTE_TOOL,)
        self.messages = [Message(role="system", content=f"{_SYSTEM}{instructions}".strip())]
        self._table = ToolTable(functions, None)
        self._recorder, self._python = recorder, python
        self.is_verified = python is not None
        """Whether the canary agreed with the contract before every block of the Python session."""
        self._replies = 0
        self._last: Completion | None = None
        """The last reply; it is recorded with all that follows it."""

    def add(self, name: str, function: Callable[..., Any], schemas: dict[str, dict[str, Any]]) -> None:
        """Offer one more function from the next question on."""
        self.tools += (_offer(name, function, schemas),)
        self._table.add(name, function)

    async def ask(self, question: str) -> tuple[Answer, list[ToolCall]]:
        """Return the answer to a question, and the calls that were made on the way."""
        self.messages.append(Message(role="user", content=question))
        if len(self.messages) == 2:
            self._recorder.record_opening(_dump(self.messages))
        calls: list[ToolCall] = []
        spent = [0, 0]
        deadline = asyncio.get_running_loop().time() + self.spec.timeout_seconds
        for step in range(1, self.spec.max_steps + 1):
            try:
                async with asyncio.timeout_at(deadline):
                    completion = await self._complete()
            except (ModelError, TimeoutError) as error:
                return _end(*stop_of(error), step - 1, spent), calls
            spent = [spent[0] + completion.prompt_tokens, spent[1] + completion.completion_tokens]
            if completion.tool_calls:
                calls += await self._run(completion)
            elif completion.finish_reason == "stop":
                return _end(FinishReason.ANSWER, completion.text.strip(), step, spent), calls
            else:
                told = fill("cut_off", reason=completion.finish_reason)
                self._recorder.record_turn_error(self._replies, ErrorKind.MODEL, "ReplyCutOff", told)
                self.messages.append(Message(role="user", content=told))
            if self.spec.max_tokens is not None and sum(spent) >= self.spec.max_tokens:
                text = fill("stopped_max_tokens", tokens=sum(spent))
                return _end(FinishReason.MAX_TOKENS, text, step, spent), calls
        text = fill("stopped_max_steps", steps=self.spec.max_steps)
        return _end(FinishReason.MAX_STEPS, text, self.spec.max_steps, spent), calls

    def record_last(self) -> None:
        """Record the last reply with the messages that followed it; call it when the conversation has ended."""
        if self._last is None:
            return
        completion, self._last = self._last, None
        calls = [[call.name, call.arguments_json] for call in completion.tool_calls]
        text = "\n".join(part for part in (completion.text, json.dumps(calls) if calls else "") if part)
        place = max(place for place, message in enumerate(self.messages) if message.role == "assistant")
        told = self.messages[place + 1 :]
        is_text = all(message.role == "user" for message in told)
        observation = "\n\n".join(message.content for message in told) if is_text else _dump(told)
        self._recorder.record_turn(
            self._replies,
            Reply(None, len(calls), text),
            completion._replace(text=text),
            observation=observation or None,
            seed=decoding_seed(self.name, self._replies - 1, 0),
        )

    async def _complete(self) -> Completion:
        self.record_last()
        request = CompletionRequest(
            messages=tuple(self.messages),
            seed=decoding_seed(self.name, self._replies, 0),
            episode_id=self.name,
            temperature=self.spec.temperature,
            max_completion_tokens=self.spec.max_completion_tokens,
            tools=self.tools,
        )
        completion = await self.client.complete(request)
        self._replies, self._last = self._replies + 1, completion
        message = Message(role="assistant", content=completion.text, tool_calls=completion.tool_calls)
        self.messages.append(message)
        return completion

    async def _run(self, completion: Completion) -> list[ToolCall]:
        """Run a reply's calls in order, and record them as one step."""
        self._table.start_block()
        ran = [await self._call(call) for call in completion.tool_calls]
        calls = self._table.finish_block(None)
        self.messages += [
            Message(role="tool", content=one.told, tool_call_id=call.call_id)
            for one, call in zip(ran, completion.tool_calls, strict=True)
        ]
        error = next((one.error for one in ran if one.error), None)
        result = BlockResult(
            "\n".join(one.told for one in ran),
            None,
            error,
            active_globals=(),
            last_step_globals=(),
            tool_calls=calls,
            state_event="kept",
            state_hash=None,
            notices=(),
            seconds=sum(call.seconds for call in calls),
        )
        self._recorder.record_step(self._replies, "\n".join(one.code for one in ran), result, (), None)
        return list(calls)

    async def _call(self, call: FunctionCall) -> CallResult:
        try:
            arguments = json.loads(call.arguments_json or "{}")
        except ValueError as error:
            return CallResult(f"error: the arguments are not JSON: {error}", f"# {call.name}: malformed arguments")
        if not isinstance(arguments, dict):
            return CallResult("error: the arguments are not an object", f"# {call.name}: malformed arguments")
        if call.name == EXECUTE and self._python is not None:
            code = str(arguments.get("code", ""))
            result, is_verified = await self._python.run(code)
            self.is_verified = self.is_verified and is_verified
            error = None if result.error is None else result.error.message
            return CallResult("\n".join(filter(None, (result.output, result.result, error))), code, result.error)
        frame = self._table.answer(call.name, [], arguments)
        told = json.dumps(frame[1]) if frame[0] == "value" else f"error: {frame[1]}: {frame[2]}"
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return CallResult(told, f"{call.name}({shown})")


def _offer(name: str, function: Callable[..., Any], schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a function as an endpoint reads it."""
    schema = schemas.get(name)
    if schema is None:
        parameters = inspect.signature(function).parameters
        hints = {key: _TYPES.get(one.annotation) for key, one in parameters.items()}
        declared = {
            "type": "object",
            "properties": {key: {"type": hint} if hint else {} for key, hint in hints.items()},
            "required": [key for key, one in parameters.items() if one.default is inspect.Parameter.empty],
        }
        schema = {"description": inspect.getdoc(function) or "", "parameters": declared}
    return {"type": "function", "function": {"name": name, **schema}}


def _dump(messages: Sequence[Message]) -> str:
    return json.dumps([message.model_dump() for message in messages])


def _end(stop: FinishReason, text: str, steps: int, spent: list[int]) -> Answer:
    return Answer(text, stop=stop, step_count=steps, prompt_tokens=spent[0], completion_tokens=spent[1])
