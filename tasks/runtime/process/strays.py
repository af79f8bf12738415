"""Ending what an episode's processes forked, or all of them."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable

from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.process.node import Node

_GIVE_UP_SECONDS = 5.0
_LEAST_ROUNDS = 10
"""However long they take: a process is stopped in the round after the one that found it."""
_LOWEST_PRIORITY = 19


def end_strays(root: Node) -> None:
    """End every unknown descendant of the root, however many fork."""
    _end_descendants(root, _known(root), _GIVE_UP_SECONDS)


def end_all(root: Node) -> None:
    """End an episode, even without a handle on a process."""
    try:
        _end_descendants(root, set(), 0.0)
    finally:
        root.end()


def _end_descendants(root: Node, kept: set[int], seconds: float) -> None:
    """End a root's descendants by handles, since process ids are reused.

    Stopping comes before killing: a stopped process cannot fork, and the process limit bounds how many there are.
    While the root is alive, all processes listed below it descend from it. A handle opened before the listing refers
    to the listed process, or to one that has ended, which no signal reaches.
    """
    deadline = time.monotonic() + seconds
    stopped: dict[int, int] = {}
    with contextlib.ExitStack() as opened:
        handles: dict[int, int | None] = {}
        rounds_left = _LEAST_ROUNDS
        try:
            while rounds_left > 0 or time.monotonic() < deadline:
                rounds_left -= 1
                found = set(descendants(root.process_id())) - kept - stopped.keys()
                if not found or not root.is_alive():
                    break
                for process in found:
                    handle = handles.pop(process, None)
                    if handle is None:
                        handles[process] = _open(process, opened)
                    elif _signal(handle, signal.SIGSTOP):
                        stopped[process] = handle
        finally:
            killed = [handle for handle in stopped.values() if _kill(handle)]
        _wait_until_ended(killed, deadline)


def _wait_until_ended(handles: Iterable[int], deadline: float) -> None:
    """Wait for killed processes, until the deadline.

    On a busy machine the next block could still see one that ends late.
    """
    for handle in handles:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        waiting.poll(1000 * max(0.0, deadline - time.monotonic()))


def put_strays_last(root: Node) -> None:
    """Give a block's forks the lowest priority.

    Other episodes share the processors.
    """
    for process in set(descendants(root.process_id())) - _known(root):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpriority(os.PRIO_PROCESS, process, _LOWEST_PRIORITY)


def _known(root: Node) -> set[int]:
    return {node.process_id() for node in root.family}


def _open(process: int, opened: contextlib.ExitStack) -> int | None:
    """Return a process's handle, closed in time; None if ended."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return None
    opened.callback(os.close, handle)
    return handle


def _kill(handle: int) -> bool:
    """Kill a process; tell whether it will end."""
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:  # a program with the rights of another user
        return False
    return True


def _signal(handle: int, number: signal.Signals) -> bool:
    """Signal a process; tell whether it exists.

    It may exist though signalling is not allowed.
    """
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
