"""Host side of the tools: arguments checked, calls counted and capped, every call recorded."""

import inspect
import json
import time
import typing
from collections.abc import Callable, Mapping
from typing import Any

from carryover.tasks.runtime.engine import CallInterruptedError
from carryover.tasks.runtime.inside.tools import (
    ToolCallLimitError,
    ToolError,
    ToolInvocationException,
    ToolRuntimeException,
)
from carryover.tasks.runtime.inside.values.portable import check_keys
from carryover.tasks.runtime.journal import INTERRUPTED, ToolReply, request_text
from carryover.tasks.runtime.results import ToolCall
from carryover.tasks.services.text import encodable

_REFUSALS_KEPT = 100
"""Calls past a limit that are recorded one by one; a block that goes on calling is not kept in memory."""
_BLOCK_LIMIT_BYTES = 4 << 20
"""Of a block's calls and their replies, as JSON and with what each is kept with: calls are refused once it is spent."""
_CALL_BYTES = 200
_NAME_LIMIT = 100
_RESULT_LIMIT = 4 << 20
"""Characters of a result as JSON, or of an error's message."""
_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_CHECKED_TYPES = (str, int, float, bool, list, dict)


class _StoppedByHandError(ToolError):
    """Ctrl-C came while the tool ran."""


_StoppedByHandError.__name__ = INTERRUPTED


class HostTool:
    """A tool function with what is needed to call it safely."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        self._required = {one.name for one in parameters if one.default is one.empty and one.kind not in _COLLECTING}
        self._names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        self._is_plain = len(self._names) == len(parameters)
        try:
            hints = typing.get_type_hints(function)
        except (NameError, TypeError):
            hints = {}
        self._types: dict[str, type] = {name: hint for name, hint in hints.items() if hint in _CHECKED_TYPES}

    @property
    def documentation(self) -> str:
        """The text that a block sees as the function's documentation."""
        return f"{self.name}{self.signature}\n\n{inspect.getdoc(self.function) or ''}".rstrip()

    def bind(self, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        """Return a call's arguments by parameter, as far as they are given; None if they do not fit."""
        if self._is_plain and not keywords and len(arguments) <= len(self._names):
            return dict(zip(self._names, arguments, strict=False))  # `inspect` takes a tenth of a call's time
        try:
            return self.signature.bind_partial(*arguments, **keywords).arguments
        except TypeError:
            return None

    def call(self, arguments: list[Any], keywords: dict[str, Any], bound: dict[str, Any] | None) -> Any:
        """Call the function; `bound` are the arguments by parameter, as far as they fit.

        Raise `ToolError` for arguments that do not fit it and for whatever it refuses. A base exception, such as a
        cancellation, counts as a failure of the tool; Prefect's request to end the run passes through.
        """
        self._check(self._fit(arguments, keywords, bound))
        try:
            return self.function(*arguments, **keywords)
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
            if not isinstance(value, (int, float) if expected is float else expected):
                given = f"{type(value).__name__} {value!r}"[:200]
                raise ToolInvocationException(f"{self.name}: {name} must be {expected.__name__}, got {given}")


class ToolTable:
    """The tools of an episode, and the calls of the running block."""

    def __init__(self, tools: Mapping[str, Callable[..., Any]], cap: int | None) -> None:
        self.tools = {name: HostTool(name, function) for name, function in tools.items()}
        self.cap = cap
        self.start_block()

    def add(self, name: str, function: Callable[..., Any]) -> str:
        """Add a function, and return its documentation."""
        self.tools[name] = HostTool(name, function)
        return self.tools[name].documentation

    def copy(self) -> "ToolTable":
        """Return a table of the same functions that counts by itself."""
        other = ToolTable({}, self.cap)
        other.tools = dict(self.tools)
        return other

    def start_block(self) -> None:
        """Forget the calls of the block before."""
        self._calls: list[ToolCall] = []
        self._replies: list[ToolReply] = []
        self._count = self._refused_count = self._spent_bytes = 0

    def answer(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Call and record a tool, and return the reply frame; raise `CallInterruptedError` if stopped by hand."""
        started = time.perf_counter()
        request = request_text(name, arguments, keywords)
        refusal = self._count_call(len(request))
        if self._spent_bytes > _BLOCK_LIMIT_BYTES:  # what is too large to be answered is not kept
            name = name[:_NAME_LIMIT]
            arguments = []
            keywords = {}
            request = request_text(name, arguments, keywords)
        is_kept = self._refused_count <= _REFUSALS_KEPT
        bound = self._bind(name, arguments, keywords)
        given = ""
        if is_kept:  # before the call: a tool may change its arguments
            given = json.dumps({"args": arguments, "kwargs": keywords} if bound is None else bound)
        result = error = None
        frame: tuple[Any, ...]
        try:
            if refusal is not None:
                raise refusal
            value = self._find(name).call(arguments, keywords, bound)
            result = _as_json(name, value)
            frame = ("value", value)
            self._spent_bytes += len(result)
        except ToolError as raised:
            error = raised
            frame = ("error", type(error).__name__, encodable(str(error)), len(self._calls) + is_kept)
            self._spent_bytes += len(frame[2])
        if is_kept:
            seconds = time.perf_counter() - started
            if result is None:
                _, error_type, message, _ = frame
                self._replies.append(ToolReply(request, frame))
            else:
                error_type = message = None
                self._replies.append(ToolReply(request, ("value", result)))
            self._calls.append(ToolCall(name, given, result, error_type, message, is_caught=False, seconds=seconds))
        if isinstance(error, _StoppedByHandError):
            raise CallInterruptedError(frame)
        return frame

    def _bind(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        if name not in self.tools:
            return None
        return self.tools[name].bind(arguments, keywords)

    def _find(self, name: str) -> HostTool:
        if name not in self.tools:
            raise ToolInvocationException(f"unknown tool {name!r}; there are {', '.join(self.tools)}")
        return self.tools[name]

    def replies(self) -> tuple[ToolReply, ...]:
        """Return the block's calls with their replies, for a replay."""
        return tuple(self._replies)

    def finish_block(self, uncaught: int | None) -> tuple[ToolCall, ...]:
        """Return the block's calls; each failed call counts as caught, unless it ended the block."""
        return tuple(
            call if call.error_type in (None, INTERRUPTED) or index == uncaught else call._replace(is_caught=True)
            for index, call in enumerate(self._calls, start=1)
        )

    def error_kind(self, uncaught: int | None) -> typing.Literal["interpreter", "tool", "cap"]:
        """Tell where the error that ended the block came from."""
        if uncaught is None or not 1 <= uncaught <= len(self._calls) or self._calls[uncaught - 1].error_type is None:
            return "interpreter"
        if self._calls[uncaught - 1].error_type == ToolCallLimitError.__name__:
            return "cap"
        return "tool"

    def _count_call(self, size: int) -> ToolCallLimitError | None:
        """Count a call and its size; return why it is refused, if a limit of the block's is spent."""
        self._count += 1
        self._spent_bytes += size + _CALL_BYTES
        exceeded = None
        if self.cap is not None and self._count > self.cap:
            exceeded = f"{self.cap} calls are allowed per code block"
        elif self._spent_bytes > _BLOCK_LIMIT_BYTES:
            exceeded = f"the calls of a code block and their replies may take {_BLOCK_LIMIT_BYTES} bytes"
        self._refused_count += exceeded is not None
        if exceeded:
            return ToolCallLimitError(f"Tool call limit exceeded: {exceeded}")
        return None


def _as_json(name: str, value: Any) -> str:
    try:
        check_keys(value)
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise ToolRuntimeException(f"{name} returned a value that is not JSON: {cause}") from cause
    if len(text) > _RESULT_LIMIT:
        raise ToolRuntimeException(f"{name} returned {len(text)} characters; {_RESULT_LIMIT} are allowed")
    return text
