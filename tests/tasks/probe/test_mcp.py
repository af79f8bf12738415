"""What is said to a server of the Model Context Protocol, and what its answers mean."""

import json
import os
import select
import sys
import textwrap
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from carryover.tasks.probe.connectors import mcp
from carryover.tasks.probe.connectors.mcp import McpRuntime
from carryover.tasks.probe.probing import probe
from carryover.tasks.services.errors import UserError

TOOLS = [{"name": "python", "inputSchema": {"properties": {"code": {}}}}]
ANSWERS = {
    "initialize": {"serverInfo": {"name": "made", "version": "2"}},
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "1"}, {"type": "image"}, {"type": "text", "text": 2}]},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "carryover", "version": "1"}}
SERVER = """
import json, sys
answers = json.loads(sys.argv[2])
with open(sys.argv[1], "a") as heard:
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
        request = json.loads(line)
        if "id" not in request:
            continue
        print("not a message", flush=True)
        print("[]", flush=True)
        print(json.dumps({"id": request["id"] + 100, "result": {}}), flush=True)
        answer = answers[request["method"]]
        kind = "error" if "message" in answer else "result"
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], kind: answer}), flush=True)
"""


@pytest.fixture
def served(tmp_path):
    """Return a runtime at a command that answers by method, and a function that returns what it heard."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    opened = []

    def serve(answers, tool=None):
        opened.append(McpRuntime(f"{sys.executable} {program} {tmp_path}/heard '{json.dumps(answers)}'", tool))
        return opened[-1]

    yield serve, lambda: [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    for runtime in opened:
        runtime.close()


def test_a_session_is_greeted_and_asked_for_its_tools(served):
    serve, heard = served
    runtime: Any = serve(ANSWERS)
    runtime.open()
    assert runtime.version() == "made 2, tool python"
    assert runtime.offers() == {"reset"}
    assert runtime.run("x = 1") == "1\n2"
    rpc = {"jsonrpc": "2.0"}
    begun = [
        {**rpc, "id": 1, "method": "initialize", "params": HELLO},
        {**rpc, "method": "notifications/initialized"},
        {**rpc, "id": 2, "method": "tools/list", "params": {}},
    ]
    call = {"name": "python", "arguments": {"code": "x = 1"}}
    assert heard() == [*begun, {**rpc, "id": 3, "method": "tools/call", "params": call}]
    process = runtime._line._process
    assert os.getpgid(process.pid) == process.pid
    runtime.reset()
    assert process.returncode == 0
    assert [message.get("id") for message in heard()[4:]] == [4, None, 5]


@pytest.mark.timeout(60)
def test_children_of_sessions_before_a_reset_end_with_the_runtime(served, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = f"import time\nheld = open({str(pipe)!r}, 'w')\ntime.sleep(60)"
    serve, _ = served
    runtime = serve(ANSWERS)
    launcher = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-S', '-c', {child!r}])\n"
    (tmp_path / "server.py").write_text(launcher + SERVER)
    runtime.open()
    with pipe.open("rb") as reader:
        (tmp_path / "server.py").write_text(SERVER)
        runtime.reset()
        assert select.select([reader], [], [], 0)[0] == []
        runtime.close()
        assert select.select([reader], [], [], 10)[0] == [reader]


def test_a_server_without_name_or_output_is_probed(served):
    serve, _ = served
    runtime = serve({**ANSWERS, "initialize": {}, "tools/call": {}})
    runtime.open()
    assert runtime.version() == "unnamed server , tool python"
    assert runtime.run("x = 1") == ""


def test_a_refusal_is_told_with_its_method(served):
    serve, _ = served
    runtime = serve({**ANSWERS, "tools/list": {"message": "no tools today"}})
    with pytest.raises(UserError, match=r"^MCP server '.*' refused tools/list: no tools today$"):
        runtime.open()


def test_a_server_without_a_code_tool_ends_with_its_probe(served):
    class NotesProcess(McpRuntime):
        def open(self):
            try:
                super().open()
            finally:
                line: Any = self._line
                self.process = line._process

    serve, _ = served
    runtime = NotesProcess(serve({**ANSWERS, "tools/list": {"tools": []}})._target)
    with pytest.raises(UserError, match=r"^no tool of the server takes code as one of code, .*; name another server"):
        probe(runtime, "mcp:made")
    assert runtime.process.returncode == 0


def test_a_silent_or_missing_server_is_told(monkeypatch):
    monkeypatch.setattr(mcp, "ANSWER_SECONDS", 0.2)
    silent = McpRuntime(f"{sys.executable} -c 'import sys; sys.stdin.read()'")
    with pytest.raises(UserError, match=r"^the MCP server gave no reply in 0\.2 s$"):
        silent.open()
    silent.close()
    monkeypatch.setattr(mcp, "ANSWER_SECONDS", 60)
    ended: Any = McpRuntime(f"{sys.executable} -c pass")
    with pytest.raises(UserError, match=r"^the MCP server ended; see its standard error above$"):
        ended.open()
    line = ended._line
    line._process.wait()
    with pytest.raises(UserError, match=r"^the MCP server ended; see its standard error above$"):
        line.tell({})
    ended.close()
    assert line._process.stdout.closed
    with pytest.raises(UserError, match=r"^cannot start 'no-such-program': No such file or directory; name a command"):
        McpRuntime("no-such-program --now").open()


class Handler(BaseHTTPRequestHandler):
    """Answers every request as its server says, which keeps what it was sent."""

    server: Any

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append((sent.get("method"), self.headers))
        status, session, body = self.server.answer(sent)
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        content = body.encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *arguments):
        pass


@pytest.fixture
def http(monkeypatch):
    """Return a runtime at an address that answers by a function, and what the server heard."""
    with HTTPServer(("127.0.0.1", 0), Handler) as opened:
        server: Any = opened
        server.heard = []
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

        def serve(answer):
            server.answer = answer
            return McpRuntime(f"http://127.0.0.1:{server.server_address[1]}/mcp")

        yield serve, server.heard
        server.shutdown()


def told(sent, **changes):
    return json.dumps({"id": sent["id"], "result": {**ANSWERS, **changes}[sent["method"]]})


def test_a_session_over_http_keeps_its_id(http):
    serve, heard = http

    def answer(sent):
        if "id" not in sent:
            return 202, None, ""
        if sent["method"] == "initialize":
            return 200, "s-1", told(sent)
        return (
            200,
            None,
            textwrap.dedent(f"""
            event: message
            data: {json.dumps({"method": "notifications/message"})}
            data: {told(sent)}
        """),
        )

    runtime = serve(answer)
    runtime.open()
    assert runtime.run("x = 1") == "1\n2"
    line: Any = runtime._line
    runtime.close()
    assert line._client.is_closed
    methods = ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert [method for method, _ in heard] == methods
    assert [headers.get("Mcp-Session-Id") for _, headers in heard] == [None, "s-1", "s-1", "s-1"]
    for _, headers in heard:
        assert headers["Accept"] == "application/json, text/event-stream"
        assert headers["MCP-Protocol-Version"] == "2025-06-18"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, None, "{}"), "^MCP server http://127.0.0.1:.*: Server error '500 Internal Server Error'"),
        ((200, None, '{"id": 99, "result": {}}'), "^http://127.0.0.1:.*/mcp answered no message to initialize$"),
        ((200, None, ""), "^http://127.0.0.1:.*/mcp answered no message to initialize$"),
    ],
)
def test_an_answer_that_is_none_is_told_over_http(http, answer, said):
    serve, _ = http
    with pytest.raises(UserError, match=said):
        serve(lambda sent: answer).open()
