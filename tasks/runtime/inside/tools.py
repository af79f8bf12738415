"""Tool stubs: functions of the namespace that call the host."""

import _thread
import builtins
from collections.abc import Callable
from os import _exit, close, getpid  # references of our own: a block may rebind what a module holds
from typing import Any

from .framing import CALL_LIMIT_BYTES, Channel, FrameTooLargeError
from .values.portable import check_keys, is_json


class ToolError(Exception):
    """Base of tool errors; blocks see the same class names."""


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
        self.types: dict[str, Any] = {}
        """Classes that results may be instances of, by name."""
        self.refer: Callable[..., Any] = _refer_to_nothing
        """Returns what stands for a live object of the host's."""

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
        """Let no call through, and wait for one under way."""
        self._channel = None
        with self._lock:
            pass

    def call(
        self, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any], *, takes_objects: bool = False
    ) -> Any:
        """Return what the host's tool returned, or raise what it raised."""
        is_main_thread = _thread.get_ident() == self._main_thread
        with self._lock:
            channel = self._channel
            if channel is None or getpid() != self._owner:
                raise ToolRuntimeException(f"{tool} can be called only by a running block, from its own process")
            self.is_main_thread_calling = is_main_thread
            try:
                if takes_objects:
                    reply = self._exchange_objects(channel, tool, arguments, keywords)
                else:
                    reply = self._exchange(channel, tool, arguments, keywords)
            finally:
                self.is_main_thread_calling = False
        if is_main_thread and self.is_interrupt_pending:
            self.is_interrupt_pending = False
            raise StepTimeout
        if reply[0] == "value":
            return reply[1]
        _, type_name, message, call = reply
        error = _error_kind(type_name)(message)
        error.__dict__["call"] = call
        raise error

    def _exchange(self, channel: Channel, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.ticket += 1
        try:
            check_keys((arguments, keywords))
            channel.send(("call", self.ticket, tool, arguments, keywords), limit_bytes=CALL_LIMIT_BYTES)
        except FrameTooLargeError as error:
            problem = f"{tool}: arguments must take {CALL_LIMIT_BYTES} bytes at most, and not {error.size}"
            raise ToolInvocationException(problem) from None
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolInvocationException(f"{tool}: arguments must be plain JSON values ({error})") from None
        try:
            while (reply := channel.receive())[0] != self.ticket:
                pass  # the reply to a call that was given up
        except EOFError:
            _exit(0)
        return reply[1]

    def _exchange_objects(self, channel: Channel, tool: str, arguments: Any, keywords: dict[str, Any]) -> Any:
        """Call with any values: as JSON, else through host memory."""
        self.ticket += 1
        if not self._send_as_json(channel, tool, arguments, keywords):
            self._send_by_memory(channel, tool, arguments, keywords)
        reply, descriptors = self._receive(channel)
        if reply[0] != "object":
            return reply
        from .values import transfer, tree

        (descriptor,) = descriptors
        blob = transfer.take(descriptor, reply[1])
        return "value", tree.decode(blob, self.types, refer=self.refer)

    def _send_as_json(self, channel: Channel, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Send a small JSON call; tell whether it was one."""
        try:
            if not (is_json([*arguments]) and is_json(keywords)):
                return False
            channel.send(("call", self.ticket, tool, arguments, keywords), limit_bytes=CALL_LIMIT_BYTES)
        except (FrameTooLargeError, RecursionError):
            return False
        return True

    def _send_by_memory(self, channel: Channel, tool: str, arguments: Any, keywords: dict[str, Any]) -> None:
        from .values import transfer, tree

        try:
            encoded = tree.encode((arguments, keywords))
        except tree.NotPortableError as error:
            raise ToolInvocationException(f"{tool}: {error}") from None
        channel.send(("offer", self.ticket, tool, encoded.size, encoded.libraries))
        reply, descriptors = self._receive(channel)
        if reply[0] != "fill":
            raise ToolInvocationException(f"{tool}: {reply[1]}")
        (descriptor,) = descriptors
        try:
            transfer.fill(descriptor, encoded)
        finally:
            close(descriptor)
        channel.send(("filled", self.ticket))

    def _receive(self, channel: Channel) -> tuple[Any, tuple[int, ...]]:
        """Return the host's next word on the call, with its descriptors."""
        while True:
            try:
                reply, descriptors = channel.receive_with_descriptors()
            except EOFError:
                _exit(0)
            if reply[0] == self.ticket:
                return reply[1], descriptors
            for descriptor in descriptors:  # the reply to a call that was given up
                close(descriptor)


def _refer_to_nothing(*_standing: Any) -> Any:
    raise ToolRuntimeException("no object of the host's can be held here")


def _error_kind(name: str) -> Any:
    """Return the class of a named error.

    It is a tool's, or one that is also an exception of Python's own.
    """
    known = _ERRORS.get(name)
    if known is not None:
        return known
    bases: tuple[type, ...] = (ToolError,)
    also = getattr(builtins, name, None)
    if isinstance(also, type) and issubclass(also, Exception):
        bases = (ToolError, also)
    return type(name, bases, {"__module__": "builtins"})


def make_stub(line: ToolLine, name: str, documentation: str | None, *, takes_objects: bool = False) -> Any:
    """Return the function that a block calls under a tool's name."""

    def stub(*arguments: Any, **keywords: Any) -> Any:
        return line.call(name, arguments, keywords, takes_objects=takes_objects)

    stub.__name__ = stub.__qualname__ = name
    stub.__module__ = "__main__"
    stub.__doc__ = documentation
    return stub
