"""Who listens on a port, in the words that `make up` refuses with."""

import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from carryover.tasks.services.ports import port_owner

ANYWHERE = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


@pytest.mark.parametrize("family", ANYWHERE)
def test_owner_of_a_port_is_named_until_it_leaves(family):
    with socket.socket(family) as listener:
        listener.bind((ANYWHERE[family], 0))
        port = listener.getsockname()[1]
        assert port_owner(port) is None
        listener.listen()
        said = port_owner(port) or ""
        assert said.startswith(f"process {os.getpid()} of the user ")
        assert Path("/proc/self/cmdline").read_text().partition("\0")[0] in said
    assert port_owner(port) is None


def test_owner_without_an_account_is_told_by_number(monkeypatch):
    def refuse(user_id: int) -> None:
        raise KeyError(user_id)

    monkeypatch.setattr(pwd, "getpwuid", refuse)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        said = port_owner(listener.getsockname()[1]) or ""
    assert f"of the user {os.getuid()} (" in said


def test_owner_whose_process_is_hidden_is_told_by_user(monkeypatch):
    monkeypatch.setattr(Path, "readlink", lambda path: path)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        said = port_owner(listener.getsockname()[1])
    assert said == f"a process of the user {pwd.getpwuid(os.getuid()).pw_name}"


def test_program_refuses_a_taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
        command = [sys.executable, "-m", "carryover.tasks.services.ports", port]
        free = subprocess.run(command, capture_output=True, text=True, check=False)
        listener.listen()
        taken = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (free.returncode, free.stderr) == (0, "")
    assert taken.returncode == 1
    assert taken.stderr.startswith(f"carryover: port {port} is taken by process {os.getpid()} of the user ")
