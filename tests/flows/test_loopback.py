"""A study speaks to this machine alone: no process of it opens a socket to anywhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.flow_process import run_flow

WATCH = """
import os
import sys

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")


def watch(event, arguments):
    if event not in EVENTS:
        return
    if event == "socket.getaddrinfo":
        address = arguments[:2]
    elif event == "socket.gethostbyname":
        address = arguments[:1]
    else:
        address = arguments[-1]
    host = address[0] if isinstance(address, tuple) and address else None
    if isinstance(host, str) and host and not host.startswith(LOOPBACK):
        with open(os.environ["SOCKETS_SEEN"], "a") as file:
            file.write(f"{event} {address} by {sys.orig_argv[:4]}\\n")


sys.addaudithook(watch)
with open(os.environ["SOCKETS_SEEN"] + ".processes", "a") as file:
    file.write(f"{os.getpid()}\\n")
"""
"""A `sitecustomize` for every process of a study: notes what it asks of the network."""


@pytest.fixture
def seen(tmp_path, monkeypatch) -> Path:
    """The file in which processes that are started from here note what they ask of the network beyond loopback."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    paths = [str(tmp_path / "watch"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))
    monkeypatch.setenv("SOCKETS_SEEN", str(tmp_path / "seen"))
    return tmp_path / "seen"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("socket.create_connection(('127.0.0.1', 9))", 0),
        ("socket.create_connection(('192.0.2.1', 9), 0.01)", 2),  # asks for the address, then connects
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 9))", 1),
        ("socket.getaddrinfo('carryover.invalid', 80)", 1),
        ("socket.socket(socket.AF_UNIX).connect('/nonexistent')", 0),
    ],
)
def test_the_watch_sees_what_leaves_the_machine(seen, code, count):
    subprocess.run([sys.executable, "-c", f"import socket\n{code}"], capture_output=True, check=False)
    assert len(seen.read_text().splitlines() if seen.exists() else []) == count


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_no_process_of_a_study_opens_a_socket_beyond_loopback(seen, tmp_path):
    """With a Prefect server of its own, which counts as well as trainings and model servers."""
    run_flow(tmp_path / "data", "run", "--scale", "smoke", "--train-count", "12", "--evaluation-count", "2")
    watched = set(seen.with_name("seen.processes").read_text().split())
    assert len(watched) >= 5  # the flow, its Prefect server, two trainings, the model server
    assert not seen.exists() or seen.read_text() == ""
