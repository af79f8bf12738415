"""Leaving something on the host's disk: no folder takes anything from a block, whoever runs the worker."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import pytest

from tasks.runtime.inside import confine
from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS, Runtime, SandboxLevel
from tasks.runtime.sandbox.level import SandboxUnavailableError
from tasks.runtime.spec import RuntimeSpec

ATTACK = """
import os, stat, uuid

made, folders = [], {known}
for folder, inner, _ in os.walk('/'):
    folders.append(folder)
    if folder.count('/') > 2: inner.clear()
makers = dict(
    file=lambda path: os.open(path, os.O_CREAT | os.O_WRONLY),
    folder=os.mkdir,
    link=lambda path: os.symlink('/target', path),
    pipe=os.mkfifo,
    socket=lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
)
for folder in folders:
    for name in ('kept', uuid.uuid4().hex):
        for kind, make in makers.items():
            try: make(os.path.join(folder, name)); made.append((kind, folder))
            except OSError: pass
    try: os.rename(folder + '/s-1', folder + '/s-2'); made.append(('renamed socket', folder))
    except OSError: pass
made, len(folders) > 4
"""
"""Tells what could be made and where, and whether there was any place to try."""

WORKER = """
import json, os, sys
from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS
from tasks.runtime.spec import RuntimeSpec

runtime = open_runtime(RuntimeSpec(backend=sys.argv[1], sandbox=sys.argv[2], warm_kernel_count=1))
told = [os.geteuid(), runtime.sandbox_level]
for contract in CONTRACTS.values():
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    told.append(interpreter.run_block(sys.argv[3]).result)
    interpreter.close()
runtime.close()
print(json.dumps(told))
"""
BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]
OTHER_USER = 1000


def attack() -> str:
    """Return the block; it knows where anybody may write."""
    return ATTACK.format(known=["/tmp", "/var/tmp", "/dev/shm", "/run", tempfile.gettempdir()])


def become_another_user() -> None:
    """Be no longer root, as far as a process can tell; its files stay readable."""
    user, group = os.geteuid(), os.getegid()
    if not confine.unshare_user(processes=False):
        raise PermissionError("user namespaces are denied")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{OTHER_USER} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{OTHER_USER} {group} 1", encoding="ascii")


def test_no_folder_takes_anything_from_a_block(skip_below, walled):
    interpreter, level = walled
    skip_below("landlock+seccomp", level)
    assert interpreter.run_block(attack()).result == "([], True)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_folder_takes_anything_behind_landlock(backend, contract):
    runtime = open_at("landlock+seccomp", backend)
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    result = interpreter.run_block(attack())
    interpreter.close()
    runtime.close()
    assert result.result == "([], True)"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["bwrap+seccomp", "landlock+seccomp"])
def test_no_folder_takes_anything_where_the_worker_is_not_root(level, backend):
    open_at(level, backend).close()
    if not may_become_another_user():
        pytest.skip("user namespaces are denied: nobody can become another user")
    words = [sys.executable, "-c", WORKER, backend, level, attack()]
    ended = subprocess.run(words, preexec_fn=become_another_user, stdout=subprocess.PIPE, check=True)
    assert json.loads(ended.stdout) == [OTHER_USER, level, *["([], True)"] * len(CONTRACTS)]


def open_at(level: SandboxLevel, backend: Literal["fork_tree", "jupyter"]) -> Runtime:
    """Open a runtime at one level; skip the test where the machine does not reach it."""
    try:
        return open_runtime(RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))


def may_become_another_user() -> bool:
    """Tell whether this machine lets a process have a user namespace of its own, in which it chooses its user."""
    asks = "from tasks.runtime.inside import confine; print(confine.unshare_user(processes=False))"
    return subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True).stdout == b"True\n"
