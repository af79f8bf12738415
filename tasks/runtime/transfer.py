"""Bindings and values on their way to and from a process."""

import atexit
import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from carryover.tasks.runtime.inside.framing import Channel, FrameError
from carryover.tasks.runtime.inside.values.transfer import SMALL_BYTES
from carryover.tasks.runtime.inside.values.tree import LIBRARIES, is_harmless
from carryover.tasks.runtime.objects import NO_MEMORY, Binding, InjectionError, RetrievalError, SharedMemory
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.launch import SandboxProcess, launch
from carryover.tasks.runtime.sandbox.level import reach_level

_CHECK_SECONDS = 120.0
"""For the reader's answer on a busy machine; its own limit is one of processor time."""
Ask = Callable[..., Any]
"""Sends a message with descriptors and returns the content of the answer."""


class Fetched(NamedTuple):
    """A variable's blob in sealed memory, as the sandbox has written it."""

    memory: SharedMemory
    libraries: tuple[str, ...]
    """Packages that decoding it takes."""


def send_binding(ask: Ask, binding: Binding) -> None:
    """Bind something in a namespace, or raise `InjectionError` with why."""
    if binding.message[0] in ("bind", "place") and binding.content is None:
        return  # a later value has taken its place
    memory = binding.memory()
    problem = ask(binding.message, () if memory is None else (memory.descriptor,))
    if problem is not None:
        raise InjectionError(f"{binding.name}: {problem}")


def fetch(ask: Ask, name: str, limit_bytes: int, message: tuple[Any, ...] = ()) -> Fetched:
    """Return a blob in sealed memory, or raise `RetrievalError`.

    It is also raised where the blob cannot be sealed.
    """
    size, libraries = _measured(name, ask(message or ("fetch", name), ()))
    if size > limit_bytes:
        reason = f"{size} bytes exceed the limit of {limit_bytes}; raise object_limit_bytes"
        raise RetrievalError(f"{name}: {reason}")
    try:
        memory = SharedMemory(size)
    except OSError as error:
        raise RetrievalError(f"{name}: {NO_MEMORY.format(size=size, reason=error.strerror)}") from error
    if problem := ask(("fill",), (memory.descriptor,)):
        raise RetrievalError(f"{name}: {problem!s:.1000}")
    try:
        memory.seal()
    except OSError as error:
        raise RetrievalError(f"{name}: a process of the sandbox keeps its memory mapped for writing") from error
    return Fetched(memory, libraries)


def _measured(name: str, answer: Any) -> tuple[int, tuple[str, ...]]:
    """Return a blob's size and libraries, or raise `RetrievalError`."""
    match answer:
        case {"missing": _}:
            raise RetrievalError(f"no variable {name!r} is alive")
        case {"error": str(text)}:
            raise RetrievalError(f"{name}: {text}")
        case {"size": int(size), "libraries": list(libraries)} if size > 0:
            if all(library in LIBRARIES for library in libraries):
                return size, tuple(libraries)
    raise RetrievalError(f"{name}: malformed answer")


def check(name: str, fetched: Fetched, spec: RuntimeSpec) -> None:
    """Check a blob in the worker's reader, or raise `RetrievalError`.

    A harmless one needs no check.
    """
    if fetched.memory.size <= SMALL_BYTES and is_harmless(fetched.memory.view()):
        return
    ours, theirs = socket.socketpair()
    message = (fetched.memory.size, fetched.libraries, spec.object_limit_bytes)
    with contextlib.closing(Channel(ours)) as channel:
        with theirs:
            _ask_reader(spec, message, (fetched.memory.descriptor, theirs.fileno()))
        ours.settimeout(_CHECK_SECONDS)
        try:
            problem = channel.receive()
        except (EOFError, FrameError, OSError) as error:
            problem = f"decoding it ended the process that tried it ({type(error).__name__})"
    if problem is not None:
        raise RetrievalError(f"{name}: {problem!s:.1000}")


_readers: dict[tuple[int, SandboxLevel | None], SandboxProcess] = {}
"""By the process that started each and the wanted sandbox level."""
_lock = threading.Lock()


def _ask_reader(spec: RuntimeSpec, message: Any, descriptors: tuple[int, ...]) -> None:
    """Send a message to this worker's reader; start one where none runs."""
    key = os.getpid(), spec.sandbox
    with _lock:
        if key in _readers:
            with contextlib.suppress(OSError):  # it has ended
                return _readers[key].channel.send(message, descriptors)
            _readers.pop(key).close()
        walls = RuntimeSpec(preload=(), memory_limit_bytes=spec.memory_limit_bytes)
        _readers[key] = reader = launch("reader", walls, reach_level(spec.sandbox))
        atexit.register(reader.close)
        return reader.channel.send(message, descriptors)
