"""Connector to MCP servers with a tool that runs code."""

import json
import select
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from carryover.tasks.probe.connectors.piped import end_piped, is_group_alive, kill_group, split_command, start_piped
from carryover.tasks.services.errors import UserError

CODE_ARGUMENTS = ("code", "python_code", "source", "script", "command")
"""Names of a tool's argument for code, likeliest first."""
ANSWER_SECONDS = 60
_PROTOCOL = "2025-06-18"


class CodeTool(NamedTuple):
    """A tool that runs code, and its parameter for it."""

    name: str
    argument: str
    holder: str | None = None
    """Parameter that is an object with the argument in it."""

    def arguments(self, code: str) -> dict[str, Any]:
        """Return a call's arguments."""
        held = {self.argument: code}
        if self.holder is None:
            return held
        return {self.holder: held}


class McpRuntime:
    """The code tool of a server; a reset opens a new session."""

    def __init__(self, target: str, tool: str | None = None) -> None:
        """Name a command or an HTTP address, and one of several tools."""
        self._target = target
        self._wanted = tool
        self._tool = CodeTool("", "")
        self._server: Mapping[str, Any] = {}
        self._line: _Line | None = None
        self._spared_groups: list[int] = []
        self._number = 0

    def open(self) -> None:
        """Start a session and find the tool."""
        self._line = _HttpLine(self._target) if self._target.startswith("http") else _StreamLine(self._target)
        hello = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": {"name": "carryover", "version": "1"}}
        self._server = self._ask("initialize", hello).get("serverInfo", {})
        self._line.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._tool = find_code_tool(self._ask("tools/list", {})["tools"], self._wanted)

    def version(self) -> str:
        """Return the server's name and version, and the tool's."""
        name = self._server.get("name", "unnamed server")
        return f"{name} {self._server.get('version', '')}, tool {self._tool.name}"

    def offers(self) -> frozenset[str]:
        """Return the optional methods: none but a reset."""
        return frozenset({"reset"})

    def run(self, code: str) -> str:
        """Call the tool with a block and return the result's texts."""
        result = self._ask("tools/call", {"name": self._tool.name, "arguments": self._tool.arguments(code)})
        return "\n".join(_texts(result.get("content", ())))

    def reset(self) -> None:
        """Begin a new session; children of the old one's server may outlive it."""
        self._end(spares_children=True)
        self.open()

    def close(self) -> None:
        """End the session and the processes of every session's server."""
        self._end(spares_children=False)
        for group in self._spared_groups:
            kill_group(group)
        self._spared_groups.clear()

    def _end(self, *, spares_children: bool) -> None:
        if self._line is None:
            return
        self._line.close(spares_children=spares_children)
        group = self._line.group
        if group is not None and is_group_alive(group):
            self._spared_groups.append(group)
        self._line = None

    def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._line is not None, "open() comes first"
        self._number += 1
        reply = self._line.ask({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        if "error" in reply:
            raise UserError(f"MCP server {self._target!r} refused {method}: {reply['error'].get('message')}")
        return reply["result"]


def find_code_tool(tools: Iterable[Mapping[str, Any]], wanted: str | None) -> CodeTool:
    """Return the tool that runs code, by its schema."""
    listed = {tool["name"]: _code_tool(tool) for tool in tools}
    found = [tool for name, tool in listed.items() if tool is not None and wanted in (None, name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(tool.name for tool in found)
        raise UserError(f"several tools run code: {names}; choose one with --tool")
    names = ", ".join(listed) or "the server"
    raise UserError(
        f"no tool of {names} takes code as one of {', '.join(CODE_ARGUMENTS)}; name another server or --tool"
    )


def _code_tool(tool: Mapping[str, Any]) -> CodeTool | None:
    schema = tool.get("inputSchema", {})
    properties = schema.get("properties", {})
    for argument in CODE_ARGUMENTS:
        if argument in properties:
            return CodeTool(tool["name"], argument)
    for holder, described in properties.items():
        inner = _inner_properties(described, schema)
        for argument in CODE_ARGUMENTS:
            if argument in inner:
                return CodeTool(tool["name"], argument, holder)
    return None


def _inner_properties(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a parameter that is an object."""
    name = described.get("$ref", "").rpartition("/")[2]
    return schema.get("$defs", {}).get(name, described).get("properties", {})


def _texts(content: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(part["text"]) for part in content if part.get("type") == "text"]


class _Line(Protocol):
    """A way to a server."""

    group: int | None
    """Group of the server's processes, where the line started it."""

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]: ...

    def tell(self, notification: Mapping[str, Any]) -> None: ...

    def close(self, *, spares_children: bool) -> None: ...


class _StreamLine:
    """Standard input and output of a command."""

    def __init__(self, command: str) -> None:
        self._process = start_piped(split_command(command))
        self.group: int | None = self._process.pid

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.tell(request)
        while True:
            reply = self._next()
            if reply.get("id") == request["id"]:
                return reply

    def tell(self, notification: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(notification).encode() + b"\n")
        except BrokenPipeError as error:
            raise UserError("the MCP server ended; see its standard error above") from error

    def close(self, *, spares_children: bool) -> None:
        end_piped(self._process, spares_children=spares_children)

    def _next(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_SECONDS)
        if not ready:
            raise UserError(f"the MCP server gave no reply in {ANSWER_SECONDS} s")
        line = self._process.stdout.readline()
        if not line:
            raise UserError("the MCP server ended; see its standard error above")
        return _message(line.decode())


class _HttpLine:
    """Streamable HTTP: a POST a message, answered by JSON or by events."""

    group: int | None = None

    def __init__(self, address: str) -> None:
        import httpx

        self._address = address
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _PROTOCOL}
        self._client = httpx.Client(headers=headers, timeout=ANSWER_SECONDS)

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        body = self._post(request)
        for line in body.splitlines():
            message = _message(line.removeprefix("data:"))
            if message.get("id") == request["id"]:
                return message
        raise UserError(f"{self._address} answered no message to {request['method']}")

    def tell(self, notification: Mapping[str, Any]) -> None:
        self._post(notification)

    def close(self, *, spares_children: bool) -> None:
        self._client.close()

    def _post(self, message: Mapping[str, Any]) -> str:
        import httpx

        try:
            reply = self._client.post(self._address, json=message).raise_for_status()
        except httpx.HTTPError as error:
            raise UserError(f"MCP server {self._address}: {error}") from error
        session = reply.headers.get("Mcp-Session-Id")
        if session:
            self._client.headers["Mcp-Session-Id"] = session
        return reply.text


def _message(line: str) -> Mapping[str, Any]:
    """Return a line's message, or an empty one."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
