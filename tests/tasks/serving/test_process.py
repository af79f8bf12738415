"""Managed processes, tried on small programs that behave like servers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carryover.tasks.serving.process import DeadServerError, ManagedProcess, ServerError, find_free_port

SERVER = """
import os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass

helper = subprocess.Popen(["sleep", "600"])
print("pids", os.getpid(), helper.pid, flush=True)
time.sleep(0.5)
print("ready", flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
DEAF_SERVER = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SERVER


def start(tmp_path, program=SERVER, **settings):
    port = find_free_port()
    command = [sys.executable, "-c", program, str(port)]
    health_url = f"http://127.0.0.1:{port}/health"
    return ManagedProcess(command, tmp_path / "logs" / "server.log", health_url=health_url, **settings)


def pids_in(log: Path) -> list[int]:
    (line,) = [line for line in log.read_text().splitlines() if line.startswith("pids")]
    return [int(pid) for pid in line.split()[1:]]


def is_alive(pid: int) -> bool:
    """Tell whether the process runs; a zombie that nobody has reaped yet does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 20
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [pid for pid in pids if is_alive(pid)]


def test_a_server_is_awaited_and_stopped_with_all_its_children(tmp_path):
    progress, seen = [], tmp_path / "seen"

    def note(line):
        progress.append(line)
        seen.touch()

    program = SERVER.replace("time.sleep(0.5)", f"while not os.path.exists({str(seen)!r}): time.sleep(0.02)")
    with start(tmp_path, program) as server:
        server.wait_until_healthy(30, note)
        pids = pids_in(server.log_path)
        assert server.is_healthy()
    with pytest.raises(ServerError, match="server ended"):
        server.check_running()
    assert {line.split(" ")[0] for line in progress} <= {"", "pids", "ready"}
    wait_until_gone(pids)


def test_a_server_that_dies_is_reported_with_its_last_lines(tmp_path):
    program = "import sys\nfor number in range(30): print('line', number)\nsys.exit('error: no such model')"
    with start(tmp_path, program) as server, pytest.raises(ServerError) as caught:
        server.wait_until_healthy(30)
    message = str(caught.value)
    assert "server ended with status 1" in message
    assert message.endswith("error: no such model")
    assert "line 29" in message
    assert "line 5\n" not in message


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
@pytest.mark.parametrize("whom", ["os.getpid()", "os.getppid()"])
def test_a_server_killed_while_it_starts_counts_as_dead(tmp_path, number, whom):
    """By whatever signal; its supervisor passes a polite one on, and takes the server along when it dies."""
    program = f"import os, time\nos.kill({whom}, {int(number)})\ntime.sleep(60)"
    with start(tmp_path, program) as server, pytest.raises(DeadServerError, match="server ended with status"):
        server.wait_until_healthy(30)


ENGINE_PARENT = """
import multiprocessing, os, sys

def load_model():
    {fate}

engine = multiprocessing.get_context("fork").Process(target=load_model, name="EngineCore_DP0")
engine.start()
engine.join()
failed = {{engine.name: engine.exitcode}}
sys.exit(f"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{failed}}")
"""
"""A server that loads its model in a child, and says in vLLM's words how that ended."""


@pytest.mark.parametrize(
    ("fate", "kind"), [("os.kill(os.getpid(), 9)", DeadServerError), ("raise SystemExit(1)", ServerError)]
)
def test_server_whose_loading_engine_was_killed_counts_as_dead(tmp_path, fate, kind):
    with start(tmp_path, ENGINE_PARENT.format(fate=fate)) as server, pytest.raises(ServerError) as caught:
        server.wait_until_healthy(30)
    assert caught.type is kind
    assert "server ended with status 1" in str(caught.value)


PARALLEL_PARENT = """
import multiprocessing, os, sys

def load_shard(ready):
    try:
        {fate}
    except Exception as error:
        print("ERROR WorkerProc failed to start.", repr(error), *["  File"] * 50, sep="\\n", flush=True)

context = multiprocessing.get_context("fork")
reader, writer = context.Pipe(duplex=False)
worker = context.Process(target=load_shard, args=(writer,), name="VllmWorker-1")
worker.start()
writer.close()
try:
    reader.recv()
    worker.join()
    print("ERROR Worker proc VllmWorker-1 died unexpectedly, shutting down executor.")
except EOFError:
    print("ERROR Exception: WorkerProc initialization failed due to an exception in a background process.")
sys.exit("RuntimeError: Engine core initialization failed. Failed core proc(s): {{'EngineCore_DP0': 1}}")
"""
"""A server whose tensor-parallel worker ends while it loads, or once it has; its engine then fails by itself."""


@pytest.mark.parametrize(
    ("fate", "kind"),
    [
        ("os.kill(os.getpid(), 9)", DeadServerError),
        ("ready.send(1); os.kill(os.getpid(), 9)", DeadServerError),
        ("raise ValueError('no such layer')", ServerError),
    ],
)
def test_server_whose_tensor_parallel_worker_was_killed_counts_as_dead(tmp_path, fate, kind):
    with start(tmp_path, PARALLEL_PARENT.format(fate=fate)) as server, pytest.raises(ServerError) as caught:
        server.wait_until_healthy(30)
    assert caught.type is kind
    assert "server ended with status 1" in str(caught.value)


def test_lines_of_an_earlier_server_are_not_quoted(tmp_path):
    for word in ("earlier", "later"):
        with start(tmp_path, f"raise SystemExit('{word}')") as server, pytest.raises(ServerError) as caught:
            server.wait_until_healthy(30)
    assert "later" in str(caught.value)
    assert "earlier" not in server.log_tail()
    assert "earlier" in server.log_path.read_text()


def test_a_server_that_never_answers_is_stopped(tmp_path):
    with start(tmp_path, "import time; time.sleep(600)") as server:
        with pytest.raises(ServerError, match="server not ready after 0 s"):
            server.wait_until_healthy(0.3)
        with pytest.raises(ServerError, match="server ended"):
            server.check_running()


def test_a_program_that_does_not_exist_is_reported(tmp_path):
    health_url = f"http://127.0.0.1:{find_free_port()}/health"
    with (
        ManagedProcess(["/no/such/program"], tmp_path / "log", health_url=health_url) as server,
        pytest.raises(ServerError, match="/no/such/program cannot be started"),
    ):
        server.wait_until_healthy(30)


def test_a_server_that_ignores_the_polite_signal_is_killed(tmp_path):
    with start(tmp_path, DEAF_SERVER, stop_grace_seconds=0.3) as server:
        server.wait_until_healthy(30)
        pids = pids_in(server.log_path)
    wait_until_gone(pids)


STARTER = """
import sys
from pathlib import Path
from carryover.tasks.serving.process import ManagedProcess
command, log, url = sys.argv[3:], Path(sys.argv[1]), sys.argv[2]
server = ManagedProcess(command, log, health_url=url)
server.wait_until_healthy(30)
print("started", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_does_not_outlive_a_killed_starter(tmp_path, number):
    port, log = find_free_port(), tmp_path / "log"
    command = [sys.executable, "-c", STARTER, str(log), f"http://127.0.0.1:{port}/", sys.executable, "-c", SERVER]
    with subprocess.Popen([*command, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
        pids = pids_in(log)
        starter.send_signal(number)
    wait_until_gone(pids)


def test_a_server_does_not_outlive_its_killed_supervisor(tmp_path):
    with start(tmp_path) as server:
        server.wait_until_healthy(30)
        server_pid, _helper = pids_in(server.log_path)
        supervisor = int(Path(f"/proc/{server_pid}/stat").read_text().split()[3])
        os.kill(supervisor, signal.SIGKILL)
        wait_until_gone([server_pid])
        os.killpg(server_pid, signal.SIGKILL)


def test_the_end_of_a_block_is_the_end_of_its_server(tmp_path):
    server = start(tmp_path)
    with server:
        server.wait_until_healthy(30)
        pids = pids_in(server.log_path)
    wait_until_gone(pids)  # while `server` is still referred to
    assert not server.is_healthy()
