"""A worker that is not root: its blocks belong to the same user as its files and its own processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.inside.walls import confine
from carryover.tasks.runtime.runtime_spec import SandboxLevel

OTHER_USER = 1000
WORKER = """
import json, os, sys
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

runtime = open_runtime(RuntimeSpec(backend=sys.argv[1], sandbox=sys.argv[2], warm_kernel_count=1))
told = [os.geteuid(), runtime.sandbox_level]
for contract in CONTRACTS.values():
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    told.append([interpreter.run_block(sys.argv[3]).result for _ in range(2)])
    interpreter.close()
runtime.close()
print(json.dumps(told))
"""


def told_by_another_user(backend: str, level: SandboxLevel, code: str) -> dict[str, list[str]]:
    """Run a block twice under each contract in a worker that is not root; return what it came to, by contract.

    The test is skipped where nobody can become another user.
    """
    if not may_become_another_user():
        pytest.skip("user namespaces are denied: nobody can become another user")
    words = [sys.executable, "-c", WORKER, backend, level, code]
    ended = subprocess.run(words, preexec_fn=become_another_user, stdout=subprocess.PIPE, check=True)
    user, reached, *results = json.loads(ended.stdout)
    assert (user, reached) == (OTHER_USER, level)
    return dict(zip(CONTRACTS, results, strict=True))


def become_another_user() -> None:
    """Be no longer root, as far as a process can tell; its files stay readable."""
    user, group = os.geteuid(), os.getegid()
    if not confine.unshare_user(processes=False):
        raise PermissionError("user namespaces are denied")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{OTHER_USER} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{OTHER_USER} {group} 1", encoding="ascii")


def may_become_another_user() -> bool:
    """Tell whether this machine lets a process have a user namespace of its own, in which it chooses its user."""
    asks = "from carryover.tasks.runtime.inside.walls import confine; print(confine.unshare_user(processes=False))"
    return subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True).stdout == b"True\n"
