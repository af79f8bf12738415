"""Tool stubs: ordinary functions of the namespace that call the host and wait for its answer."""

import _thread
from os import _exit, getpid  # references of our own: a block may rebind what a module holds
from typing import Any

from .framing import CALL_LIMIT_BYTES, Channel, FrameTooLargeError
from .values.portable import check_keys


class ToolError(Exception):
    """Base of the errors that a tool may raise on the host, and that the block sees under the same class name."""


class ToolRuntimeException(ToolError):  # noqa: N818 - the name that the study's validator knows
    """The environment refused the call (arXiv 2603.01209)."""


class ToolInvocationException(ToolError):  # noqa: N818 - the name that the study's validator knows
    """The arguments do not fit the tool."""


class ToolCallLimitError(ToolError):
    """The calls allowed per block are spent."""


class StepTimeout(BaseException):
    """Raised in the block that ran past its time limit."""


for _shown in (ToolRuntimeException, ToolInvocationException, ToolCallLimitError, StepTimeout):
    _shown.__module__ = "builtins"  # tracebacks name the class without our module

_ERRORS = {kind.__name__: kind for kind in (ToolRuntimeException, ToolInvocationException, ToolCallLimitError)}


class ToolLine:
    """The line to the host that all stubs share.

    An interrupt inside a call would leave a reply unread and every later reply off by one, so it waits until the
    reply is in. Only a block's own process may call, and only while the block runs.
    """

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self.is_main_thread_calling = False
        self.is_interrupt_pending = False
        self._lock = _thread.allocate_lock()
        self._main_thread = _thread.get_ident()
        self._owner = 0
        self.ticket = 0
        """Number of the last call."""

    def open(self, channel: Channel, owner: int) -> None:
        """Let the calls of a process through from now on."""
        self._channel = channel
        self._owner = owner

    def renew(self) -> None:
        """Forget a call that was under way when its block ended."""
        self._main_thread = _thread.get_ident()
        self.is_main_thread_calling = self.is_interrupt_pending = False
        self._lock = _thread.allocate_lock()

    def close(self) -> None:
        """Let no call through, and wait for the one of another thread that is under way."""
        self._channel = None
        with self._lock:
            pass

    def call(self, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the host's tool returned, or raise what it raised."""
        is_main_thread = _thread.get_ident() == self._main_thread
        with self._lock:
            channel = self._channel
            if channel is None or getpid() != self._owner:
                raise ToolRuntimeException(f"{tool} can be called only by a running block, from its own process")
            self.is_main_thread_calling = is_main_thread
            try:
                reply = self._exchange(channel, tool, arguments, keywords)
            finally:
                self.is_main_thread_calling = False
        if is_main_thread and self.is_interrupt_pending:
            self.is_interrupt_pending = False
            raise StepTimeout
        if reply[0] == "value":
            return reply[1]
        _, type_name, message, call = reply
        kind = _ERRORS.get(type_name) or type(type_name, (ToolError,), {"__module__": "builtins"})
        error = kind(message)
        error.__dict__["call"] = call
        raise error

    def _exchange(self, channel: Channel, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.ticket += 1
        try:
            check_keys((arguments, keywords))
            channel.send(("call", self.ticket, tool, arguments, keywords), limit_bytes=CALL_LIMIT_BYTES)
        except FrameTooLargeError as error:
            told = f"{tool}: arguments must take {CALL_LIMIT_BYTES} bytes at most, and not {error.size}"
            raise ToolInvocationException(told) from None
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolInvocationException(f"{tool}: arguments must be plain JSON values ({error})") from None
        try:
            while (reply := channel.receive())[0] != self.ticket:
                pass  # the reply to a call that was given up
        except EOFError:
            _exit(0)
        return reply[1]


def make_stub(line: ToolLine, name: str, documentation: str | None) -> Any:
    """Return the function that a block calls under a tool's name."""

    def stub(*arguments: Any, **keywords: Any) -> Any:
        return line.call(name, arguments, keywords)

    stub.__name__ = stub.__qualname__ = name
    stub.__module__ = "__main__"
    stub.__doc__ = documentation
    return stub
