"""Bindings and values on their way between the host and a process that answers."""

import os
from collections.abc import Callable
from typing import Any

from carryover.tasks.runtime.inside.framing import FRAME_LIMIT_BYTES, FrameTooLargeError
from carryover.tasks.runtime.objects import (
    Binding,
    InjectionError,
    RetrievalError,
    Room,
    read_room,
    read_shared_memory,
    shared_memory,
)

Ask = Callable[..., Any]
"""Sends a message with descriptors and returns the content of the answer, which may be given a limit of its own."""


def send_binding(ask: Ask, binding: Binding) -> None:
    """Bind something in a process's namespace.

    Raises:
        InjectionError: It could not, for the reason that it gives.
    """
    memory = shared_memory(binding.content) if binding.content is not None else None
    try:
        problem = ask(binding.message, () if memory is None else (memory,))
    except FrameTooLargeError as error:
        raise InjectionError(f"{binding.message[1]}: {error}; a text, an array or a frame may be larger") from error
    finally:
        if memory is not None:
            os.close(memory)
    if problem is not None:
        raise InjectionError(f"{binding.message[1]}: {problem}")


def fetch_types(ask: Ask) -> dict[str, str]:
    """Return the type of every variable by name.

    Raises:
        RetrievalError: The answer is malformed.
    """
    answer = ask(("types",), (), FRAME_LIMIT_BYTES)
    if type(answer) is dict and all(type(text) is str for item in answer.items() for text in item):
        return answer
    raise RetrievalError("the interpreter gave no types of its variables")


def fetch(ask: Ask, name: str, limit_bytes: int) -> tuple[Room, bytes]:
    """Ask for a variable's form, make room for its buffers, and copy them.

    Raises:
        RetrievalError: There is none, or it does not travel.
    """
    room = read_room(name, ask(("fetch", name), (), FRAME_LIMIT_BYTES), limit_bytes)
    size = sum(room.sizes)
    if not size:
        return room, b""
    memory = shared_memory(size)
    try:
        ask(("fill",), (memory,))
        return room, read_shared_memory(memory, size)
    finally:
        os.close(memory)
