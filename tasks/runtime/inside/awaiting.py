"""Top-level `await`: an event loop that lives as long as the names do, and needs no socket.

A block may make no sockets, and `asyncio` wakes its loops by a pair of them: here they are woken by a pipe.
"""

import os
import sys
from importlib.machinery import PathFinder
from typing import Any

_PATCHED = "asyncio.selector_events"


class Awaiting:
    """Runs a block's coroutines in one event loop, which is made when it is first needed."""

    def __init__(self) -> None:
        self._loop: Any = None

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end and return its value, or raise what it raises."""
        loop = self._open()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                loop.run_until_complete(_end_of(task))
            raise

    def renew(self) -> None:
        """Give the loop a pipe of its own, as a process does that was just forked; its threads are gone."""
        if self._loop is None or self._loop.is_closed():
            return
        self._loop._close_self_pipe()
        self._loop._make_self_pipe()
        self._loop._default_executor = None

    def descriptors(self) -> frozenset[int]:
        """Return the loop's own descriptors."""
        if self._loop is None or self._loop.is_closed():
            return frozenset()
        return frozenset((self._loop._ssock.fileno(), self._loop._csock.fileno()))

    def forget(self) -> None:
        """Let the loop go, with the tasks that wait in it."""
        self._loop = None

    def _open(self) -> Any:
        import asyncio
        import selectors

        if self._loop is None or self._loop.is_closed():
            # An epoll descriptor would be shared with the forks of this process.
            self._loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
        asyncio.set_event_loop(self._loop)
        return self._loop


async def _end_of(task: Any) -> None:
    import asyncio

    await asyncio.wait([task])


class PipeFinder:
    """Lets `asyncio` wake its event loops by a pipe."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the specification of the loops' module with a loader that changes them; leave other modules."""
        if fullname != _PATCHED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_patch(module: Any) -> None:
            execute(module)
            module.BaseSelectorEventLoop._make_self_pipe = _make_self_pipe

        spec.loader.exec_module = execute_and_patch
        return spec


def install() -> None:
    """Change the loops of `asyncio` when it is imported."""
    sys.meta_path.insert(0, PipeFinder())


def _make_self_pipe(loop: Any) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    loop._ssock = _PipeEnd(reading)
    loop._csock = _PipeEnd(writing)
    loop._internal_fds += 1
    loop._add_reader(reading, loop._read_from_self)


class _PipeEnd:
    """One end of a pipe, with the methods of a socket that a loop uses."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def recv(self, size: int) -> bytes:
        return os.read(self._descriptor, size)

    def send(self, data: bytes) -> int:
        return os.write(self._descriptor, data)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
