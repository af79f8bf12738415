"""Leaving something on the host's disk: no folder takes anything from a block, whoever runs the worker."""

import tempfile
from typing import Literal

import pytest

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError
from tests.tasks.runtime.attacks.another_user import told_by_another_user

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

BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


def attack() -> str:
    """Return the block; it knows where anybody may write."""
    return ATTACK.format(known=["/tmp", "/var/tmp", "/dev/shm", "/run", tempfile.gettempdir()])


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
    assert told_by_another_user(backend, level, attack()) == dict.fromkeys(CONTRACTS, ["([], True)"] * 2)


def open_at(level: SandboxLevel, backend: Literal["fork_tree", "jupyter"]) -> Runtime:
    """Open a runtime at one level; skip the test where the machine does not reach it."""
    try:
        return open_runtime(RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
