"""Top-level `await`: an event loop that lives with the names."""

from typing import Any


class Awaiting:
    """Runs a block's coroutines in one event loop, made when needed."""

    def __init__(self) -> None:
        self._loop: Any = None

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end; return or raise its outcome."""
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
        """Give a forked process's loop its own pipe, without threads."""
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
