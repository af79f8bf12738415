"""A server of the Model Context Protocol with two tools, one for Python; `stdio`, or `http` with a session each."""

import contextlib
import io
import json
import sys
import traceback
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

TOOLS = [
    {"name": "list_files", "inputSchema": {"type": "object", "properties": {"folder": {"type": "string"}}}},
    {"name": "run_python", "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}}},
]


def run_block(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, names)
        except Exception:  # noqa: BLE001 - whatever a block raises is its output
            traceback.print_exc(file=printed)
    return {"content": [{"type": "text", "text": printed.getvalue()}]}


def answer(request, names):
    match request["method"]:
        case "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "made", "version": "3.1"},
            }
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            result = run_block(request["params"]["arguments"]["code"], names)
        case other:
            raise ValueError(other)
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def serve_stdio():
    names = {}
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps(answer(request, names)), flush=True)


class Sessions(BaseHTTPRequestHandler):
    names: dict[str, dict] = {}  # noqa: RUF012

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session = self.headers.get("Mcp-Session-Id") or uuid.uuid4().hex
        body = b""
        if "id" in request:
            reply = answer(request, self.names.setdefault(session, {}))
            body = f"event: message\ndata: {json.dumps(reply)}\n\n".encode()
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass


def serve_http():
    with HTTPServer(("127.0.0.1", 0), Sessions) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()


if sys.argv[1] == "http":
    serve_http()
else:
    serve_stdio()
