"""Host side of the tools: arguments checked, calls counted and capped, every call recorded."""

import inspect
import json
import time
import typing
from collections.abc import Callable, Mapping
from typing import Any

from tasks.runtime.journal import Reply
from tasks.runtime.protocol import (
    ToolCall,
    ToolCallLimitError,
    ToolError,
    ToolInvocationException,
    ToolRuntimeException,
)

_REFUSALS_KEPT = 100
"""Calls past the cap that are recorded one by one; a block that goes on calling is not kept in memory."""
_RESULT_LIMIT = 4 << 20
"""Characters of a result as JSON."""
_CHECKED_TYPES = (str, int, float, bool, list, dict)


class HostTool:
    """A tool function with what is needed to call it safely."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.signature = inspect.signature(function)
        self._types = _annotated_types(function)

    @property
    def documentation(self) -> str:
        """The text that a block sees as the function's documentation."""
        return f"{self.name}{self.signature}\n\n{inspect.getdoc(self.function) or ''}".rstrip()

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Call the function; raise `ToolError` for arguments that do not fit and for whatever it refuses."""
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ToolInvocationException(f"{self.name}{self.signature}: {error}") from error
        for name, value in bound.arguments.items():
            self._check(name, value)
        try:
            return self.function(*arguments, **keywords)
        except ToolError:
            raise
        except Exception as error:
            raise ToolRuntimeException(f"{type(error).__name__}: {error}") from error

    def _check(self, name: str, value: Any) -> None:
        expected = self._types.get(name)
        if expected is None or isinstance(value, expected) or (expected is float and isinstance(value, int)):
            return
        given = f"{type(value).__name__} {value!r}"[:200]
        raise ToolInvocationException(f"{self.name}: {name} must be {expected.__name__}, got {given}")


class ToolTable:
    """The tools of an episode, and the calls of the running block."""

    def __init__(self, tools: Mapping[str, Callable[..., Any]], cap: int | None) -> None:
        self.tools = {name: HostTool(name, function) for name, function in tools.items()}
        self.cap = cap
        self._calls: list[ToolCall] = []
        self._replies: list[Reply] = []
        self._count = 0

    def documentation(self) -> dict[str, str]:
        """Documentation by tool, for the stubs of the sandbox."""
        return {name: tool.documentation for name, tool in self.tools.items()}

    def add(self, name: str, function: Callable[..., Any]) -> str:
        """Add a function, and return its documentation."""
        self.tools[name] = HostTool(name, function)
        return self.tools[name].documentation

    def copy(self) -> "ToolTable":
        """Return a table of the same functions that counts by itself."""
        return ToolTable({name: tool.function for name, tool in self.tools.items()}, self.cap)

    def start_block(self) -> None:
        """Forget the calls of the block before."""
        self._calls = []
        self._replies = []
        self._count = 0

    def answer(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Call a tool and return the reply frame for the sandbox."""
        frame = self._answer(name, arguments, keywords)
        if self._is_kept():
            self._replies.append(Reply((name, arguments, keywords), frame))
        return frame

    def replies(self) -> tuple[Reply, ...]:
        """Return what the block asked and got, for the day that it runs again."""
        return tuple(self._replies)

    def finish_block(self, uncaught: int | None) -> tuple[ToolCall, ...]:
        """Return the calls of the block, each errored one marked as caught unless it is the one that ended it."""
        return tuple(
            call._replace(is_caught=call.error_type is not None and index != uncaught)
            for index, call in enumerate(self._calls, start=1)
        )

    def error_kind(self, uncaught: int | None) -> typing.Literal["interpreter", "tool", "cap"]:
        """Tell where the error that ended the block came from."""
        if uncaught is None or not 1 <= uncaught <= len(self._calls):
            return "interpreter"
        error_type = self._calls[uncaught - 1].error_type
        if error_type is None:
            return "interpreter"
        return "cap" if error_type == ToolCallLimitError.__name__ else "tool"

    def _answer(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        started = time.perf_counter()
        self._count += 1
        value = result = error = None
        try:
            value = self._call(name, arguments, keywords)
            result = json.dumps(value)
            if len(result) > _RESULT_LIMIT:
                raise ToolRuntimeException(f"{name} returned {len(result)} characters; {_RESULT_LIMIT} are allowed")
        except ToolError as raised:
            error, result = raised, None
        except (TypeError, ValueError) as cause:
            raise TypeError(f"tool {name} returned what is no plain JSON value: {cause}") from cause
        if self._is_kept():
            self._record(Reply((name, arguments, keywords), ()), started, result, error)
        if error is not None:
            return ("error", type(error).__name__, str(error), len(self._calls))
        return ("value", value)

    def _is_kept(self) -> bool:
        return self.cap is None or self._count <= self.cap + _REFUSALS_KEPT

    def _call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if self.cap is not None and self._count > self.cap:
            raise ToolCallLimitError(f"Tool call limit exceeded: {self.cap} calls are allowed per code block")
        if name not in self.tools:
            raise ToolInvocationException(f"unknown tool {name!r}; there are {', '.join(self.tools)}")
        return self.tools[name].call(arguments, keywords)

    def _record(self, asked: Reply, started: float, result: str | None, error: ToolError | None) -> None:
        name, arguments, keywords = asked.request
        self._calls.append(
            ToolCall(
                tool=name,
                arguments_json=json.dumps(self._named(name, arguments, keywords)),
                result_json=result,
                error_type=type(error).__name__ if error is not None else None,
                error_message=str(error) if error is not None else None,
                is_caught=False,
                seconds=time.perf_counter() - started,
            )
        )

    def _named(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by parameter name, as far as they fit."""
        try:
            return dict(self.tools[name].signature.bind_partial(*arguments, **keywords).arguments)
        except (KeyError, TypeError):
            return {"args": arguments, "kwargs": keywords}


def _annotated_types(function: Callable[..., Any]) -> dict[str, type]:
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}
    return {name: hint for name, hint in hints.items() if hint in _CHECKED_TYPES and name != "return"}
