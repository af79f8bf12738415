"""Host side of the tools: arguments checked, calls capped and recorded."""

import inspect
import json
import numbers
import time
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from carryover.tasks.runtime.describe import signature_of
from carryover.tasks.runtime.engine import CallInterruptedError
from carryover.tasks.runtime.gate import ObjectGate, kept_form
from carryover.tasks.runtime.inside.tools import (
    ToolCallLimitError,
    ToolError,
    ToolInvocationException,
    ToolRuntimeException,
)
from carryover.tasks.runtime.inside.values.portable import check_keys, is_json
from carryover.tasks.runtime.inside.values.tree import Refer
from carryover.tasks.runtime.journal import INTERRUPTED, ToolReply, request_text
from carryover.tasks.runtime.references import Operation, refuse_unknown
from carryover.tasks.runtime.results import BlockErrorKind, ToolCall
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched
from carryover.tasks.services.background import awaited
from carryover.tasks.services.text import encodable

_REFUSALS_KEPT = 100
"""Calls past a limit that are recorded one by one; a block that goes on calling is not kept in memory."""
_BLOCK_LIMIT_BYTES = 4 << 20
"""Of a block's calls and their replies, as JSON and with what each is kept with: calls are refused once it is spent."""
_CALL_BYTES = 200
_NAME_LIMIT = 100
_RESULT_LIMIT = 4 << 20
"""Characters of a result as JSON, or of an error's message."""
_JSON_RESULT_LIMIT = 1 << 20
"""Characters of a result that goes as JSON where it may go by memory."""
_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_CHECKED_TYPES = (str, int, float, bool, list, dict)
_ACCEPTED: dict[type, Any] = {
    int: (int, numbers.Integral),
    float: (int, float, numbers.Real),
    list: (list, tuple),
}
"""What a parameter of a type takes beside its own: numbers of a library's, and a tuple for a list."""


class _StoppedByHandError(ToolError):
    """Ctrl-C came while the tool ran."""


_StoppedByHandError.__name__ = INTERRUPTED


class HostTool:
    """A tool function with what is needed to call it safely."""

    def __init__(self, name: str, function: Callable[..., Any], *, takes_objects: bool = False) -> None:
        """Read a function's signature.

        `takes_objects`: arguments and results are all that injection takes, instead of JSON.
        """
        self.name = name
        self.takes_objects = takes_objects
        self.function = function
        self.signature = signature_of(function)
        parameters = self.signature.parameters.values()
        self._required = {one.name for one in parameters if one.default is one.empty and one.kind not in _COLLECTING}
        self._names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        self._is_plain = len(self._names) == len(parameters)
        try:
            hints = typing.get_type_hints(function)
        except (NameError, TypeError, AttributeError):
            hints = {}
        self._types: dict[str, type] = {name: hint for name, hint in hints.items() if hint in _CHECKED_TYPES}

    def refer(self, _known: Mapping[str, type]) -> Refer | None:
        """Return references in its result, for held objects alone."""
        return None

    @property
    def documentation(self) -> str:
        """The text that a block sees as the function's documentation."""
        return f"{self.name}{self.signature}\n\n{inspect.getdoc(self.function) or ''}".rstrip()

    def bind(self, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        """Return a call's arguments by parameter; None if they don't fit."""
        if self._is_plain and not keywords and len(arguments) <= len(self._names):
            return dict(zip(self._names, arguments, strict=False))  # `inspect` takes a tenth of a call's time
        try:
            return self.signature.bind_partial(*arguments, **keywords).arguments
        except TypeError:
            return None

    def call(self, arguments: list[Any], keywords: dict[str, Any], bound: dict[str, Any] | None) -> Any:
        """Call the function; `bound` are the arguments by parameter.

        Raise `ToolError` for arguments that do not fit it and for whatever it refuses. A base exception, such as a
        cancellation, counts as a failure of the tool; Prefect's request to end the run passes through.
        """
        self._check(self._fit(arguments, keywords, bound))
        try:
            return awaited(self.function(*arguments, **keywords))
        except ToolError:
            raise
        except KeyboardInterrupt as error:
            raise _StoppedByHandError(f"{self.name} was stopped by hand") from error
        except BaseException as error:
            if type(error).__module__.partition(".")[0] == "prefect" and not isinstance(error, Exception):
                raise
            raise ToolRuntimeException(f"{type(error).__name__}: {error}"[:_RESULT_LIMIT]) from error

    def _fit(self, arguments: list[Any], keywords: dict[str, Any], bound: dict[str, Any] | None) -> dict[str, Any]:
        """Return the arguments by parameter; refuse missing and unknown names."""
        if bound is not None and self._required <= bound.keys():
            return bound
        try:
            return self.signature.bind(*arguments, **keywords).arguments
        except TypeError as error:
            raise ToolInvocationException(f"{self.name}{self.signature}: {error}") from error

    def _check(self, bound: dict[str, Any]) -> None:
        """Raise for an argument of another type than the parameter's."""
        for name, value in bound.items():
            expected = self._types.get(name, object)
            if not isinstance(value, _ACCEPTED.get(expected, expected)):
                given = f"{type(value).__name__} {value!r}"[:200]
                raise ToolInvocationException(f"{self.name}: {name} must be {expected.__name__}, got {given}")


class ToolTable:
    """The tools of an episode, and the calls of the running block."""

    def __init__(
        self, tools: Mapping[str, Callable[..., Any]], cap: int | None, gate: ObjectGate | None = None
    ) -> None:
        self.tools = {name: HostTool(name, function) for name, function in tools.items()}
        self.cap = cap
        self.gate = gate or ObjectGate(RuntimeSpec())
        self.start_block()

    def add(self, name: str, function: Callable[..., Any]) -> str:
        """Add a function that takes and returns objects, and return its documentation."""
        self.tools[name] = HostTool(name, function, takes_objects=True)
        return self.tools[name].documentation

    def copy(self) -> "ToolTable":
        """Return a table of the same functions that counts by itself."""
        other = ToolTable({}, self.cap, self.gate.copy())
        other.tools = dict(self.tools)
        return other

    def start_block(self) -> None:
        """Forget the calls of the block before."""
        self._calls: list[ToolCall] = []
        self._replies: list[ToolReply] = []
        self._count = self._refused_count = self._spent_bytes = self._object_bytes = 0

    def answer(
        self, name: str, arguments: list[Any], keywords: dict[str, Any], blob: Fetched | None = None
    ) -> tuple[Any, ...]:
        """Call and record a tool, and return the reply frame.

        Raise `CallInterruptedError` if stopped by hand.

        A `blob` holds the arguments where they are more than JSON.
        """
        started = time.perf_counter()
        request = request_text(name, arguments, keywords, blob)
        refusal = self._count_call(len(request), 0 if blob is None else blob.memory.size)
        if self._spent_bytes > _BLOCK_LIMIT_BYTES:  # what is too large to be answered is not kept
            name = name[:_NAME_LIMIT]
            arguments = []
            keywords = {}
            request = request_text(name, arguments, keywords)
        is_kept = self._refused_count <= _REFUSALS_KEPT
        given = _Given(name, arguments, keywords)
        error = None
        try:
            if blob is not None and refusal is None:
                given = _Given(name, *self.gate.read_call(name, blob))
            reply = self._call(given, refusal)
        except ToolError as raised:
            error = raised
            frame = ("error", type(error).__name__, encodable(str(error)), len(self._calls) + is_kept)
            self._spent_bytes += len(frame[2])
            reply = _Reply(frame, frame, None, *frame[1:3])
        if is_kept:
            seconds = time.perf_counter() - started
            self._replies.append(ToolReply(request, reply.kept))
            outcome = (reply.result, reply.error_type, reply.message)
            self._calls.append(ToolCall(name, given.as_json(), *outcome, is_caught=False, seconds=seconds))
        if isinstance(error, _StoppedByHandError):
            raise CallInterruptedError(reply.frame)
        return reply.frame

    def _call(self, given: "_Given", refusal: ToolError | None) -> "_Reply":
        """Call a tool; raise the refusal, or a `ToolError` of the tool's."""
        tool = self._find(given.name)
        if tool is not None:
            given.bound = tool.bind(given.arguments, given.keywords)
        given.as_json()  # before the call: a tool may change its arguments
        if refusal is not None:
            raise refusal
        if tool is None:
            raise refuse_unknown(given.name, [*self.tools])
        return self._reply(given.name, tool, tool.call(given.arguments, given.keywords, given.bound))

    def _find(self, name: str) -> HostTool | Operation | None:
        return self.tools.get(name) or self.gate.references.find(name)

    def _reply(self, name: str, tool: HostTool | Operation, value: Any) -> "_Reply":
        """Return a value's reply: as JSON, else by memory."""
        if not tool.takes_objects or _is_short_json(value):
            text = _as_json(name, value)
            self._spent_bytes += len(text)
            return _Reply(("value", value), ("value", text), text)
        refer = tool.refer(self.gate.types) or self.gate.references.standing_for
        packed = self.gate.pack(name, value, refer)
        self._object_bytes += packed.memory.size
        return _Reply(("object", packed), kept_form(packed), tell(value))

    def replies(self) -> tuple[ToolReply, ...]:
        """Return the block's calls with their replies, for a replay."""
        return tuple(self._replies)

    def finish_block(self, uncaught: int | None) -> tuple[ToolCall, ...]:
        """Return the block's calls, failed ones as caught or not.

        A failed call counts as caught, unless it ended the block.
        """
        calls = []
        for index, call in enumerate(self._calls, start=1):
            is_caught = call.error_type not in (None, INTERRUPTED) and index != uncaught
            calls.append(call._replace(is_caught=True) if is_caught else call)
        return tuple(calls)

    def error_kind(self, uncaught: int | None) -> BlockErrorKind:
        """Tell where the error that ended the block came from."""
        if uncaught is None or not 1 <= uncaught <= len(self._calls) or self._calls[uncaught - 1].error_type is None:
            return "interpreter"
        if self._calls[uncaught - 1].error_type == ToolCallLimitError.__name__:
            return "cap"
        return "tool"

    def _count_call(self, size: int, object_bytes: int) -> ToolCallLimitError | None:
        """Count a call and its size; return a refusal beyond limits."""
        self._count += 1
        self._spent_bytes += size + _CALL_BYTES
        self._object_bytes += object_bytes
        object_limit = self.gate.spec.object_limit_bytes
        exceeded = None
        if self.cap is not None and self._count > self.cap:
            exceeded = f"{self.cap} calls are allowed per code block"
        elif self._spent_bytes > _BLOCK_LIMIT_BYTES:
            exceeded = f"the calls of a code block and their replies may take {_BLOCK_LIMIT_BYTES} bytes"
        elif self._object_bytes > object_limit:
            exceeded = f"the objects of a code block's calls may take {object_limit} bytes"
        self._refused_count += exceeded is not None
        if exceeded:
            return ToolCallLimitError(f"Tool call limit exceeded: {exceeded}")
        return None


@dataclass
class _Given:
    """The arguments of a call."""

    name: str
    arguments: list[Any]
    keywords: dict[str, Any]
    bound: dict[str, Any] | None = None
    """By parameter, as far as they fit."""
    _text: str | None = None

    def as_json(self) -> str:
        """Return them as JSON for a trace, as first given."""
        if self._text is None:
            whole = {"args": self.arguments, "kwargs": self.keywords}
            self._text = tell(whole if self.bound is None else self.bound)
        return self._text


class _Reply(NamedTuple):
    frame: tuple[Any, ...]
    kept: tuple[Any, ...]
    result: str | None
    error_type: str | None = None
    message: str | None = None


def tell(value: Any) -> str:
    """Return a value as JSON for a trace, else its type."""
    try:
        return json.dumps(value, default=_plain_form)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_type_of(value))


def _plain_form(value: Any) -> Any:
    """Return a library's number as Python's own, else the type's name."""
    as_own = getattr(value, "item", None)
    if isinstance(value, numbers.Number) and as_own is not None:
        return as_own()
    return _type_of(value)


def _type_of(value: Any) -> str:
    return f"<{type(value).__qualname__}>"


def _is_short_json(value: Any) -> bool:
    try:
        return is_json(value) and len(json.dumps(value)) <= _JSON_RESULT_LIMIT
    except (RecursionError, ValueError):
        return False


def _as_json(name: str, value: Any) -> str:
    try:
        check_keys(value)
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise ToolRuntimeException(f"{name} returned a value that is not JSON: {cause}") from cause
    if len(text) > _RESULT_LIMIT:
        raise ToolRuntimeException(f"{name} returned {len(text)} characters; {_RESULT_LIMIT} are allowed")
    return text
