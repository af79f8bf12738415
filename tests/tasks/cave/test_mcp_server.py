"""Agents call the tools of a small server, through the `mcp` package's own client and server."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carryover.tasks.cave.mcp_server import McpServer
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
