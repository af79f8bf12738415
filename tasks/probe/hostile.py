"""Hostile blocks: what they reach of the machine and the host.

They run only when asked for, against runtimes on this machine: each reaches for a token that this module planted.
"""

import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from carryover.tasks.probe.looking import reason, run_block
from carryover.tasks.probe.protocol import HidingRuntime, ProbedRuntime, offers

_PREFIX = "carryover" + "-hidden-"
_CONNECT = """
import socket
line = socket.create_connection(('127.0.0.1', {port}), timeout=5)
print(line.recv(100).decode())
"""
_READ_MEMORY = """
memory = open('/proc/{process}/mem', 'rb', 0)
memory.seek({address})
print(memory.read({size}))
"""
_READ_ENVIRONMENT = """
import os
for process in os.listdir('/proc'):
    try: text = open(f'/proc/{process}/environ', errors='replace').read()
    except OSError: text = ''
    if 'carryover' + '-hidden-' in text: print(text)
"""
_SEARCH_HOST = """
import gc
for held in gc.get_objects():
    values = list(held.values()) if type(held) is dict else list(held) if type(held) in (list, tuple) else []
    for value in values:
        if type(value) is str and value.startswith('carryover' + '-hidden-'): print(value)
"""
_WAIT = "import time; print(flush=True); time.sleep(600)"
_HOLD_IN_MEMORY = "import sys, time; held = sys.argv[1].encode() * 2; print(id(held) + 32, flush=True); time.sleep(600)"
"""A bytes object begins 32 bytes after its address."""


def probe_hostile(runtime: ProbedRuntime) -> dict[str, str]:
    """Return what hostile blocks reached: `reached`, or why not."""
    found = {}
    attempts: dict[str, Callable[[str], AbstractContextManager[str]]] = {
        "file of the host": _hide_in_file,
        "network of the host": _hide_behind_port,
        "memory of another process": _hide_in_memory,
        "environment of another process": _hide_in_environment,
    }
    for name, hide in attempts.items():
        token = _PREFIX + secrets.token_hex(8)
        with hide(token) as code:
            found[name] = _try(runtime, code, token)
    if offers(runtime, "hide") and isinstance(runtime, HidingRuntime):
        token = _PREFIX + secrets.token_hex(8)
        runtime.hide(token)
        found["value of the runtime's host"] = _try(runtime, _SEARCH_HOST, token)
    return found


def _try(runtime: ProbedRuntime, code: str, token: str) -> str:
    text = run_block(runtime, code)
    if token in text:
        return "reached"
    return f"denied: {reason(text)}" if text.strip() else "denied"


@contextmanager
def _hide_in_file(token: str) -> Iterator[str]:
    """Write a file at home and yield a block that reads it."""
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".carryover-") as folder:
        path = Path(folder) / "secret"
        path.write_text(token, encoding="utf-8")
        yield f"print(open({str(path)!r}).read())"


@contextmanager
def _hide_behind_port(token: str) -> Iterator[str]:
    """Greet clients of a loopback port and yield a block that connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_greet, args=(server, token), daemon=True).start()
        yield _CONNECT.format(port=server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def _greet(server: socket.socket, token: str) -> None:
    try:
        line, _ = server.accept()
    except OSError:  # nobody came before the server ended
        return
    with line:
        line.sendall(token.encode())


@contextmanager
def _hide_in_memory(token: str) -> Iterator[str]:
    """Hold the token in a process's memory; yield a block reading it."""
    with _process([sys.executable, "-c", _HOLD_IN_MEMORY, token]) as process:
        assert process.stdout is not None
        address = int(process.stdout.readline())
        yield _READ_MEMORY.format(process=process.pid, address=address, size=len(token))


@contextmanager
def _hide_in_environment(token: str) -> Iterator[str]:
    """Hold the token in a process's environment; yield a block reading it."""
    with _process([sys.executable, "-c", _WAIT], {"SECRET": token}) as process:
        assert process.stdout is not None
        process.stdout.readline()  # while it starts, the kernel shows no environment of it
        yield _READ_ENVIRONMENT


@contextmanager
def _process(words: list[str], environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()
