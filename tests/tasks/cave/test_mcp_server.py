"""Agents call the tools of a small server, through the `mcp` package's own client and server."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.cave.mcp_server import McpServer
from carryover.tasks.services.background import awaited
from carryover.tasks.services.errors import UserError
from tests.tasks.probe.foreign_environments import checkout_variables, provide_runtime

FOLDER = Path(__file__).with_name("mcp_package")
SERVER = str(FOLDER / "shop_server.py")


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    return checkout_variables(tmp_path_factory.mktemp("links"))


@pytest.fixture(scope="module", params=["mcp", "mcp-1"])
def python(request):
    return str(provide_runtime(request.param) / "python")


def played(python, variables, *target):
    """Return what an agent saw of a server."""
    command = [python, str(FOLDER / "agent_with_tools.py"), *target]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def check(seen):
    assert seen["functions"] == ["read_stock", "restock_product", "greet", "mean", "picture", "leave"]
    assert (seen["stock"], seen["greeting"], seen["average"]) == ({"tea": 10, "lamp": 12}, "Hello Ana", 1.75)
    assert seen["refusal"].startswith("ToolRuntimeException: Error executing tool restock-product")
    assert bytes(seen["shown"]) == b"\x89PNG"
    assert "def restock_product(product: str, count: int = 1)\n    Add pieces to the stock" in seen["prompt"]
    assert seen["stateless"] == "'Hello Bo'"
    assert "Connection closed; check the command or the address" in seen["no server"]


@pytest.mark.slow
@pytest.mark.long
def test_agents_call_tools_over_standard_streams(python, variables):
    seen = played(python, variables, python, SERVER, "stdio")
    check(seen)
    assert "Connection closed" in seen["after the server's end"]
    assert "ToolRuntimeException" in seen["once more"]


@pytest.fixture
def address(python):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    with subprocess.Popen([python, SERVER, "http", str(port)], stderr=subprocess.DEVNULL) as server:
        for _ in range(300):
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        server.terminate()


@pytest.mark.slow
@pytest.mark.long
def test_agents_call_tools_over_http(python, variables, address):
    check(played(python, variables, address))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UserError, match=r"the `mcp` package is missing; pip install '\.\[mcp\]' in the checkout"):
        McpServer("http://127.0.0.1:1/mcp")


class Answer(dict):
    """What the package's models are asked for: their JSON."""

    def model_dump(self, **_how):
        return dict(self)


class StandIn:
    """The few names of the `mcp` package that a connection uses, without a process."""

    def __init__(self, pages=({"tools": []},)):
        self.pages = pages
        self.started = []
        self.ended = []
        self.asked = []

    def __call__(self, _read, _write):
        return self

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_raised):
        return None

    @asynccontextmanager
    async def stdio_client(self, started):
        self.started.append(started)
        try:
            yield "read", "write"
        finally:
            self.ended.append(started)

    async def initialize(self):
        return None

    async def list_tools(self, params):
        return Answer(self.pages[int(params.cursor or 0)])

    async def call_tool(self, name, arguments):
        self.asked.append((name, arguments))
        return Answer(content=[], structuredContent={"result": len(self.asked)}, isError=False)

    def install(self, monkeypatch):
        names = {
            "mcp": {
                "ClientSession": self,
                "StdioServerParameters": SimpleNamespace,
                "stdio_client": self.stdio_client,
            },
            "mcp.client": {},
            "mcp.client.streamable_http": {"create_mcp_http_client": None, "streamable_http_client": None},
            "mcp.types": {"PaginatedRequestParams": SimpleNamespace},
        }
        for name, members in names.items():
            module = ModuleType(name)
            vars(module).update(members)
            monkeypatch.setitem(sys.modules, name, module)
        return self


def tool(name):
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}}


def is_in_main_thread(function):
    """Tell whether the main thread is in a function."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


@pytest.fixture
def interruptible():
    """Let an interrupt raise also where the tests' own starter ignores it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_a_server_starts_ends_it_at_once(monkeypatch):
    class Silent(StandIn):
        async def initialize(self):
            while not is_in_main_thread("_wait_for_tools"):
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

    package = Silent().install(monkeypatch)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        McpServer("server --silent", timeout_seconds=100)
    assert time.monotonic() - start < 50
    while not package.ended:  # on the loop's thread
        assert time.monotonic() - start < 50
        time.sleep(0.01)


def test_a_silent_server_is_named_and_ended(monkeypatch):
    class Silent(StandIn):
        async def initialize(self):
            await asyncio.Event().wait()

    package = Silent().install(monkeypatch)
    with pytest.raises(UserError, match="MCP server server --silent: TimeoutError; check the command or the address"):
        McpServer("server --silent", timeout_seconds=0.1)
    start = time.monotonic()
    while not package.ended:
        assert time.monotonic() - start < 50
        time.sleep(0.01)


def test_the_first_cause_of_a_failed_start_is_named(monkeypatch):
    class Failing(StandIn):
        async def initialize(self):
            inner = ExceptionGroup("inner", [OSError("no route")])
            raise ExceptionGroup("outer", [inner, ValueError("other")])

    Failing().install(monkeypatch)
    with pytest.raises(UserError, match=r"^MCP server server: OSError: no route; check the command or the address$"):
        McpServer("server")


def test_a_start_that_is_cancelled_is_not_waited_for(monkeypatch):
    class Cancelled(StandIn):
        async def initialize(self):
            raise asyncio.CancelledError

    Cancelled().install(monkeypatch)
    with pytest.raises(UserError, match="MCP server server: CancelledError; check the command or the address"):
        McpServer("server", timeout_seconds=5)


def test_every_page_of_tools_is_offered(monkeypatch):
    package = StandIn(({"tools": [tool("read")], "nextCursor": "1"}, {"tools": [tool("put-back")]}))
    package.install(monkeypatch)
    with McpServer(["server", "a b"], environment={"KEY": "1"}, folder="/tmp") as server:
        assert [*server.functions] == ["read", "put_back"]
        awaited(server.functions["put_back"]())
    assert package.asked == [("put-back", {})]
    assert vars(package.started[0]) == {"command": "server", "args": ["a b"], "env": {"KEY": "1"}, "cwd": "/tmp"}
    assert package.ended == package.started
    with pytest.raises(ConnectionError, match="the MCP server server 'a b' is closed"):
        awaited(server.functions["read"]())


def test_two_tools_of_one_python_name_are_refused(monkeypatch):
    package = StandIn(({"tools": [tool("put-back"), tool("put_back")]},)).install(monkeypatch)
    with pytest.raises(UserError, match="server has two tools that are called 'put_back' in Python"):
        McpServer("server")
    assert package.ended == package.started


def test_a_call_without_an_answer_ends(monkeypatch):
    class Slow(StandIn):
        async def call_tool(self, name, arguments):
            await asyncio.Event().wait()
            return await super().call_tool(name, arguments)

    Slow(({"tools": [tool("read")]},)).install(monkeypatch)
    with McpServer("server", timeout_seconds=0.1) as server, pytest.raises(TimeoutError):
        awaited(server.functions["read"]())


def test_a_server_that_does_not_end_is_left_behind(monkeypatch):
    class Endless(StandIn):
        async def __aexit__(self, *_raised):
            await asyncio.Event().wait()

    Endless().install(monkeypatch)
    server = McpServer("server", timeout_seconds=0.1)
    assert not server._serving.done()
    server.close()
    assert server._serving.cancelled()


def test_chosen_tools_are_injected_under_a_prefix(monkeypatch):
    StandIn(({"tools": [tool("read"), tool("write")]},)).install(monkeypatch)
    injected = {}
    with McpServer("server") as server:
        user: Any = SimpleNamespace(inject=injected.__setitem__)
        with pytest.raises(UserError, match="server has no tool 'red'; choose from read, write"):
            server.inject(user, only=["read", "red"])
        assert injected == {}
        server.inject(user, only=["write"], prefix="shop_")
        assert injected == {"shop_write": server.functions["write"]}
        server.inject(user)
    assert [*injected] == ["shop_write", "read", "write"]


def test_a_started_server_gets_no_environment_unless_given_one(monkeypatch):
    package = StandIn().install(monkeypatch)
    with McpServer("server 'a b'"):
        pass
    assert vars(package.started[0]) == {"command": "server", "args": ["a b"], "env": None, "cwd": None}


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/mcp", "https://shop.example/mcp"])
def test_a_server_at_an_address_gets_the_headers(monkeypatch, address):
    opened = []

    @asynccontextmanager
    async def open_client(*, headers):
        opened.append(headers)
        yield "client"

    @asynccontextmanager
    async def open_streams(target, *, http_client):
        opened.append((target, http_client))
        yield "read", "write"

    package = StandIn(({"tools": [tool("read")]},)).install(monkeypatch)
    streams: Any = sys.modules["mcp.client.streamable_http"]
    streams.create_mcp_http_client = open_client
    streams.streamable_http_client = open_streams
    with McpServer(address, headers={"Authorization": "key"}) as server:
        assert [*server.functions] == ["read"]
    assert opened == [{"Authorization": "key"}, (address, "client")]
    assert package.started == []
