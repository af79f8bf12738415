"""MCP servers whose tools an agent calls as functions (needs the `mcp` package)."""

import asyncio
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

from carryover.tasks.cave.mcp_functions import ListedTool, function_of, identifier_of
from carryover.tasks.services import background
from carryover.tasks.services.errors import UserError


class TakesFunctions(Protocol):
    """An agent or a session."""

    def inject(self, name: str, value: Any, *, description: str = "") -> Any:
        """Bind a function in the interpreter."""
        ...


class McpServer:
    """A connection to a server, over standard streams or HTTP.

        with McpServer("python files_server.py") as server, Agent(model) as agent:
            server.inject(agent)

    The connection lasts until `close`.
    """

    def __init__(
        self,
        target: str | Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | str | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        """Connect, and list the tools.

        Args:
            target: Address of a server (`http://...`), or the command that starts one: a line or a list of words.
            headers: Sent with every request over HTTP, e.g. an authorization.
            environment: Further environment variables of a started server.
            folder: Its working directory.
            timeout_seconds: Limit of the start and of each call.

        Raises:
            UserError: The `mcp` package is missing, or the server does not answer.
        """
        self._target = target
        self._headers = dict(headers or {})
        self._environment = dict(environment or {})
        self._folder = folder
        self._timeout_seconds = timeout_seconds
        self._session: Any = None
        self._end: asyncio.Event | None = None
        self._failure: Exception | None = None
        self.functions: dict[str, Callable[..., Any]] = {}
        """The tools by the names that blocks call them with."""
        opened: Future[list[ListedTool]] = Future()
        self._serving = background.submit(self._serve(opened))
        self._serving.add_done_callback(lambda _serving: _cancel(opened))
        with ExitStack() as unfinished:
            unfinished.callback(self.close)
            self._offer(self._wait_for_tools(opened))
            unfinished.pop_all()

    def inject(self, user: TakesFunctions, *, only: Iterable[str] | None = None, prefix: str = "") -> None:
        """Inject the tools, or some of them, as functions.

        Raises:
            UserError: There is no such tool.
        """
        chosen = [*self.functions] if only is None else list(only)
        for name in chosen:
            if name not in self.functions:
                raise UserError(f"{self._name} has no tool {name!r}; choose from {', '.join(self.functions)}")
        for name in chosen:
            user.inject(f"{prefix}{name}", self.functions[name])

    def close(self) -> None:
        """End the connection, and a server that was started."""
        if self._end is None:  # it has not begun
            self._serving.cancel()
            return
        background.wait_for(self._stop())

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Close it."""
        self.close()

    @property
    def _name(self) -> str:
        if isinstance(self._target, str):
            return self._target
        return shlex.join(self._target)

    def _wait_for_tools(self, opened: "Future[list[ListedTool]]") -> list[ListedTool]:
        try:
            return opened.result(self._timeout_seconds)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"MCP server {self._name}: {_reason(error)}; check the command or the address") from error

    def _offer(self, listed: Sequence[ListedTool]) -> None:
        for tool in listed:
            name = identifier_of(tool.name)
            if name in self.functions:
                raise UserError(f"{self._name} has two tools that are called {name!r} in Python")
            self.functions[name] = function_of(tool, self._call)

    async def _serve(self, opened: "Future[list[ListedTool]]") -> None:
        """Hold the connection open; one task enters and leaves it, as the package asks."""
        self._end = asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                self._session = await self._connect(stack)
                opened.set_result(await self._list())
                await self._end.wait()
        except Exception as error:  # noqa: BLE001 - the constructor raises it, or the next call names it
            self._failure = error
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._session = None

    async def _connect(self, stack: AsyncExitStack) -> Any:
        """Return an initialized session."""
        try:
            from mcp import ClientSession, StdioServerParameters, stdio_client  # pyright: ignore[reportMissingImports]
            from mcp.client.streamable_http import (  # pyright: ignore[reportMissingImports]
                create_mcp_http_client,
                streamable_http_client,
            )
        except ImportError as error:
            raise UserError("the `mcp` package is missing; pip install '.[mcp]' in the checkout") from error
        if isinstance(self._target, str) and self._target.startswith(("http://", "https://")):
            client = await stack.enter_async_context(create_mcp_http_client(headers=self._headers))
            transport = streamable_http_client(self._target, http_client=client)  # type: ignore[arg-type]
        else:
            words = shlex.split(self._target) if isinstance(self._target, str) else [*self._target]
            started = StdioServerParameters(
                command=words[0], args=words[1:], env=self._environment or None, cwd=self._folder
            )
            transport = stdio_client(started)
        streams = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        return session

    async def _list(self) -> list[ListedTool]:
        from mcp.types import PaginatedRequestParams  # pyright: ignore[reportMissingImports]

        tools: list[ListedTool] = []
        cursor = None
        while True:
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            listed = page.model_dump(by_alias=True, mode="json")
            for tool in listed["tools"]:
                tools.append(ListedTool(tool["name"], tool.get("description") or "", tool["inputSchema"]))
            cursor = listed.get("nextCursor")
            if not cursor:
                return tools

    async def _call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        if self._session is None:
            reason = "closed" if self._failure is None else f"gone: {_reason(self._failure)}"
            raise ConnectionError(f"the MCP server {self._name} is {reason}") from self._failure
        async with asyncio.timeout(self._timeout_seconds):
            result = await self._session.call_tool(name, arguments)
        return result.model_dump(by_alias=True, mode="json")

    async def _stop(self) -> None:
        assert self._end is not None, "the connection has begun"
        if self._session is None:  # it never opened
            self._serving.cancel()
            return
        self._end.set()
        serving = asyncio.wrap_future(self._serving)
        done, _ = await asyncio.wait([serving], timeout=self._timeout_seconds)
        if not done:
            self._serving.cancel()


def _cancel(opened: "Future[list[ListedTool]]") -> None:
    if not opened.done():
        opened.cancel()


def _reason(error: BaseException) -> str:
    """Return the first cause in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(": ")
