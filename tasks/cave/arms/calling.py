"""Native function calling, until a reply calls no function."""

import inspect
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Acted, Asked, Event
from carryover.tasks.agent.machine import EpisodeMachine
from carryover.tasks.agent.protocol import Completion, CompletionRequest, FunctionCall, Message, ModelClient
from carryover.tasks.agent.reply import Reply
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.agent.speaker import Speaker
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.speaker import question_limits
from carryover.tasks.runtime.results import BlockError, BlockResult, ToolCall
from carryover.tasks.runtime.tools import ToolTable

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

    content: str
    code: str
    """The call as Python."""
    error: BlockError | None = None


class CallingAgent(Speaker):
    """A conversation with an endpoint that calls host functions."""

    goes_on = True
    idle_ends = True

    def __init__(
        self,
        client: ModelClient,
        functions: dict[str, Callable[..., Any]],
        spec: AgentSpec,
        *,
        name: str,
        instructions: str = "",
        schemas: dict[str, dict[str, Any]] | None = None,
        python: RuntimeStream | None = None,
    ) -> None:
        """Begin a conversation; `python` is the interpreter behind `execute_python`, if any."""
        self.tools = tuple(_offer(name, function, schemas or {}) for name, function in functions.items())
        if python is not None:
            self.tools += (_EXECUTE_TOOL,)
        self.messages = [Message(role="system", content=f"{_SYSTEM}{instructions}".strip())]
        self.is_verified = python is not None
        """Whether the canary agreed with the contract before every block of the Python session."""
        self._client = client
        self._spec = spec
        self._name = name
        self._table = ToolTable(functions, None)
        self._python = python
        self._question = ""
        self._reply_count = 0
        self._told: list[Message] = []
        """Messages since the last reply."""

    def add(self, name: str, function: Callable[..., Any], schemas: dict[str, dict[str, Any]]) -> None:
        """Offer one more function from the next question on."""
        self.tools += (_offer(name, function, schemas),)
        self._table.add(name, function)

    def play(self, question: str) -> AsyncIterator[Event]:
        """Yield events until the question is answered, the `Answer` last."""
        self._question = question
        return EpisodeMachine(self._client, self, question_limits(self._spec, is_compacted=False)).play()

    def ask(self) -> Asked:
        """Add the question."""
        return Asked(self._tell(Message(role="user", content=self._question)))

    def request(self) -> CompletionRequest:
        """Return the conversation, with the functions on offer."""
        return CompletionRequest(
            messages=tuple(self.messages),
            seed=decoding_seed(self._name, self._reply_count, 0),
            episode_id=self._name,
            temperature=self._spec.temperature,
            max_completion_tokens=self._spec.max_completion_tokens,
            tools=self.tools,
        )

    def read(self, completion: Completion) -> Reply:
        """Return the calls of a reply."""
        calls = completion.tool_calls
        return Reply(code=None, block_count=len(calls), kept_text=completion.text, calls=calls)

    def keep(self, reply: Reply, completion: Completion) -> None:
        """Keep a reply with its calls."""
        self._reply_count += 1
        self.messages.append(Message(role="assistant", content=reply.kept_text, tool_calls=reply.calls))
        self._told = []

    async def act(self, reply: Reply) -> Acted:
        """Run the calls in order, as one step, with a message each."""
        self._table.start_block()
        ran = [await self._call(call) for call in reply.calls]
        calls = self._table.finish_block(None)
        for one, call in zip(ran, reply.calls, strict=True):
            self._tell(Message(role="tool", content=one.content, tool_call_id=call.call_id))
        code = "\n".join(one.code for one in ran)
        return Acted(code, _result(ran, calls), is_verified=self.is_verified)

    def observe(self, reply: Reply, acted: Acted) -> str:
        """Return the messages that answer the calls."""
        return _as_text(self._told)

    def refuse(self, text: str) -> str:
        """Tell why nothing of a reply ran."""
        return self._tell(Message(role="user", content=text))

    def fill(self, name: str, /, **values: object) -> str:
        """Return one of the prompts."""
        return fill(name, **values)

    def _tell(self, message: Message) -> str:
        """Add a message, and return all since the last reply."""
        self.messages.append(message)
        self._told.append(message)
        return _as_text(self._told)

    async def _call(self, call: FunctionCall) -> CallResult:
        try:
            arguments = json.loads(call.arguments_json or "{}")
        except ValueError as error:
            return CallResult(f"error: the arguments are not JSON: {error}", f"# {call.name}: malformed arguments")
        if not isinstance(arguments, dict):
            return CallResult("error: the arguments are not an object", f"# {call.name}: malformed arguments")
        if call.name == EXECUTE and self._python is not None:
            return await self._execute(self._python, str(arguments.get("code", "")))
        frame = self._table.answer(call.name, [], arguments)
        content = json.dumps(frame[1]) if frame[0] == "value" else f"error: {frame[1]}: {frame[2]}"
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return CallResult(content, f"{call.name}({shown})")

    async def _execute(self, python: RuntimeStream, code: str) -> CallResult:
        acted = await python.run(code)
        self.is_verified = self.is_verified and acted.is_verified
        result = acted.result
        error = None if result.error is None else result.error.message
        parts = [part for part in (result.output, result.result, error) if part]
        return CallResult("\n".join(parts), code, result.error)


def _result(ran: list[CallResult], calls: tuple[ToolCall, ...]) -> BlockResult:
    """Return a reply's calls as the result of one block."""
    return BlockResult(
        output="\n".join(one.content for one in ran),
        error=next((one.error for one in ran if one.error), None),
        tool_calls=calls,
        seconds=sum(call.seconds for call in calls),
    )


def _offer(name: str, function: Callable[..., Any], schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a function as an endpoint reads it."""
    schema = schemas.get(name) or _schema(function)
    return {"type": "function", "function": {"name": name, **schema}}


def _schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's description and parameters, as its signature declares them."""
    parameters = inspect.signature(function).parameters
    hints = {key: _TYPES.get(one.annotation) for key, one in parameters.items()}
    declared = {
        "type": "object",
        "properties": {key: {"type": hint} if hint else {} for key, hint in hints.items()},
        "required": [key for key, one in parameters.items() if one.default is inspect.Parameter.empty],
    }
    return {"description": inspect.getdoc(function) or "", "parameters": declared}


def _as_text(messages: list[Message]) -> str:
    """Return messages as one text, as JSON if they answer calls."""
    is_plain = all(message.role == "user" for message in messages)
    if is_plain:
        return "\n\n".join(message.content for message in messages)
    return json.dumps([message.model_dump() for message in messages])
