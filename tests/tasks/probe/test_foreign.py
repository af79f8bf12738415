import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carryover.tasks.probe.channels import CHANNELS
from carryover.tasks.probe.connectors.command import CommandRuntime
from carryover.tasks.probe.connectors.foreign import FOREIGN, ForeignRuntime
from carryover.tasks.probe.connectors.mcp import McpRuntime, find_code_tool
from carryover.tasks.probe.probing import FAILED_BLOCK, probe
from carryover.tasks.services.errors import UserError
from tests.tasks.probe.foreign_environments import provide_runtime

NAMES = {name: CHANNELS[name] for name in ("global", "import", "function")}


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setitem(FOREIGN, "made", ("made_runtime", "Made"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "made"))
    return ForeignRuntime("made", sys.executable)


def test_a_foreign_runtime_is_probed_by_its_own_python(made):
    report = probe(made, "made", NAMES | {"temporary file": CHANNELS["temporary file"]})
    assert report.version.startswith("pytest ")
    assert report.events == ["block", "error", "reset", "resume", "kill"]
    assert report.channels["global"] == {
        "block": "kept", "error": "kept", "resume": "kept", "reset": "lost", "kill": "lost",
    }  # fmt: skip
    assert report.channels["temporary file"]["kill"] == "kept"
    assert report.live_globals == {"block": True, "resume": False}
    assert report.inputs["host's object"] == "shared with the blocks"


def test_a_kill_ends_the_serving_process_and_begins_another(made):
    made.open()
    before = made._process
    assert made.offers() == {"reset", "resume", "inject", "hide", "kill"}
    made.run("x = 1")
    made.kill()
    assert before.returncode == -9
    assert "NameError" in made.run("x")
    made.close()


def test_methods_of_a_foreign_runtime_are_requests(monkeypatch):
    runtime = ForeignRuntime("rlms", "/env/bin/python")
    asked = []

    def ask(request, seconds=30):
        asked.append((request, seconds))
        return {"version": "rlms 1", "offers": ["kill", "reset"], "values": {"a": 1}}

    monkeypatch.setattr(runtime, "ask", ask)
    monkeypatch.setattr(CommandRuntime, "open", lambda self: asked.append("open"))
    runtime.open()
    assert (runtime.version(), runtime.offers()) == ("rlms 1", {"kill", "reset"})
    assert asked == ["open", ({"do": "describe"}, 120)]
    asked.clear()
    runtime.reset()
    runtime.time_out()
    runtime.resume()
    runtime.kill()
    runtime.inject({"a": 1})
    assert runtime.injected() == {"a": 1}
    runtime.hide("token")
    requests = [{"do": event} for event in ("reset", "time_out", "resume", "kill")]
    requests += [{"do": "inject", "values": {"a": 1}}, {"do": "injected"}, {"do": "hide", "value": "token"}]
    assert asked == [(request, 30) for request in requests]


def test_a_package_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setitem(FOREIGN, "made", ("no_such_module", "Made"))
    runtime = ForeignRuntime("made", sys.executable)
    with pytest.raises(UserError) as refused:
        runtime.open()
    assert str(refused.value) == f"cannot open made with {sys.executable}; does it hold the package?"
    runtime.close()


MADE_SERVER = Path(__file__).parent / "made" / "made_mcp.py"
OUTLIVING = ("temporary file", "forked process")
"""Channels of the machine, which outlive a server."""


def test_a_block_finds_what_its_own_process_hides(made):
    report = probe(made, "made", {"global": CHANNELS["global"]}, is_hostile=True)
    assert report.hostile["value of the runtime's host"] == "reached"


@pytest.fixture
def http_server():
    words = [sys.executable, str(MADE_SERVER), "http"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def seen_of_server(target):
    report = probe(McpRuntime(target), "made", NAMES | {name: CHANNELS[name] for name in OUTLIVING})
    assert report.version == "made 3.1, tool run_python"
    assert report.events == ["block", "error", "reset"]
    assert report.reasons == {}
    return report.channels["global"], [report.channels[name]["reset"] for name in OUTLIVING]


def test_a_server_on_standard_streams_is_probed():
    names, outliving = seen_of_server(f"{sys.executable} {MADE_SERVER} stdio")
    assert names == {"block": "kept", "error": "kept", "reset": "lost"}
    assert outliving == ["kept", "kept"]


def test_a_server_on_http_is_probed(http_server):
    names, outliving = seen_of_server(http_server)
    assert names == {"block": "kept", "error": "kept", "reset": "lost"}
    assert outliving == ["kept", "kept"]


def test_the_code_tool_is_found_or_asked_for():
    shell = {"name": "shell", "inputSchema": {"properties": {"cwd": {}}}}
    python = {"name": "python", "inputSchema": {"properties": {"code": {}}}}
    script = {"name": "script", "inputSchema": {"properties": {"script": {}}}}
    assert find_code_tool([shell, python], None) == ("python", "code", None)
    assert find_code_tool([python, script], "script") == ("script", "script", None)
    with pytest.raises(UserError, match="several tools run code: python, script; choose one with --tool"):
        find_code_tool([python, script], None)
    with pytest.raises(UserError, match="no tool of shell takes code"):
        find_code_tool([shell], None)


def test_code_in_an_object_of_a_tool_is_found():
    code = {"properties": {"session": {}, "code": {}}}
    schema = {"properties": {"params": {"$ref": "#/$defs/Run"}}, "$defs": {"Run": code}}
    for found in (schema, {"properties": {"params": code}}):
        tool = find_code_tool([{"name": "run", "inputSchema": found}], None)
        assert tool.arguments("x = 1") == {"params": {"code": "x = 1"}}


def test_a_server_that_ends_is_an_error():
    with pytest.raises(UserError, match="the MCP server ended"):
        probe(McpRuntime(f"{sys.executable} -c pass"), "none", NAMES)


@pytest.fixture
def foreign_runtime():
    """Return a function that opens the runtime of a package as published."""

    def runtime_of(name: str) -> ForeignRuntime | McpRuntime:
        python = str(provide_runtime(name) / "python")
        if name == "mcp-python":
            return McpRuntime(f"{python} -c 'import mcp_python; mcp_python.main()'")
        return ForeignRuntime(name, python)

    return runtime_of


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_smolagents_keeps_names_after_a_time_out(foreign_runtime):
    report = probe(foreign_runtime("smolagents"), "smolagents", NAMES)
    assert report.version.startswith("smolagents 1.26.0")
    assert report.channels["global"] == {"block": "kept", "error": "kept", "time_out": "kept", "kill": "lost"}
    assert report.lost_name_reads == {"kill": "loud"}


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_openenv_forgets_names_at_a_reset(foreign_runtime):
    report = probe(foreign_runtime("openenv"), "openenv", NAMES)
    assert {name: report.channels[name]["reset"] for name in NAMES} == dict.fromkeys(NAMES, "lost")


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_rlms_drops_a_failed_blocks_names_and_freezes_globals(foreign_runtime):
    report = probe(foreign_runtime("rlms"), "rlms", NAMES)
    assert report.channels["global"]["error"] == "kept"
    assert report.channels[FAILED_BLOCK] == {"error": "lost"}
    assert report.live_globals == {"block": False}


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_monty_resumes_live_functions_and_renews_inputs(foreign_runtime):
    report = probe(foreign_runtime("pydantic-monty"), "pydantic-monty", NAMES)
    assert report.channels["global"]["resume"] == "kept"
    assert report.live_globals == {"block": True, "resume": True}
    assert report.inputs["rebinding"] == "overwritten by the input"


SERVE_HTTP = "from mcp_python_interpreter.server import mcp; mcp.settings.port = {port}; mcp.run('streamable-http')"


@pytest.fixture
def published_http_server():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    python = str(provide_runtime("mcp-python-interpreter") / "python")
    with subprocess.Popen([python, "-c", SERVE_HTTP.format(port=port)]) as server:
        answers = False
        while not answers and server.poll() is None:
            with socket.socket() as tried:
                answers = tried.connect_ex(("127.0.0.1", port)) == 0
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        server.terminate()


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_a_published_http_server_keeps_names_over_sessions(published_http_server):
    report = probe(McpRuntime(published_http_server, "run_python_code"), "mcp-python-interpreter", NAMES)
    assert report.channels["global"] == {"block": "kept", "error": "kept", "reset": "kept"}


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one makes an environment
def test_a_published_mcp_server_is_probed(foreign_runtime):
    report = probe(foreign_runtime("mcp-python"), "mcp-python", NAMES)
    assert report.version == "python-repl 0.1.0, tool execute_python"
    assert report.channels["global"] == {"block": "kept", "error": "kept", "reset": "lost"}
