"""Connector to a command that reads blocks from standard input."""

import json
import select
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from carryover.tasks.probe.connectors.piped import end_piped, start_piped
from carryover.tasks.services.errors import UserError

BLOCK_SECONDS = 30
_ANSWERS = {"text", "version", "values"}


class CommandRuntime:
    """A command that answers lines `{"code": ...}` with lines `{"text": ...}`."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Start the command."""
        self._process = start_piped(self._words)

    def run(self, code: str) -> str:
        """Send a block and return the text of the reply."""
        return str(self.ask({"code": code})["text"])

    def ask(self, request: Mapping[str, Any], seconds: float = BLOCK_SECONDS) -> Mapping[str, Any]:
        """Send a request and return the reply."""
        assert self._process is not None, "open() comes first"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError as error:
            raise UserError(f"{self._words[0]!r} ended; it must read blocks until its input ends") from error
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            raise UserError(f"{self._words[0]!r} gave no reply in {seconds} s; it must answer every block")
        return self._reply(self._process.stdout.readline())

    def close(self) -> None:
        """End the command."""
        if self._process is not None:
            end_piped(self._process)
            self._process = None

    def _reply(self, line: bytes) -> Mapping[str, Any]:
        if not line:
            raise UserError(f"{self._words[0]!r} ended; it must read blocks until its input ends")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or not reply.keys() & _ANSWERS:
            raise UserError(f'{self._words[0]!r} answered {line[:80]!r}; answer lines of {{"text": ...}}')
        return reply
