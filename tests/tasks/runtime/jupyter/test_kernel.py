import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.jupyter.relay import ANSWER_BYTES, open_relay
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.folders import ScratchFolders
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.runtime.sandbox.level import reach_level

pytestmark = pytest.mark.kernel


def start_kernel(spec):
    level = reach_level()
    return Kernel(spec, level, ScratchFolders(spec, level))


def test_kernel_that_does_not_start_leaves_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SandboxStartError):
        start_kernel(RuntimeSpec(preload=("no_such_module",)))
    assert list(tmp_path.iterdir()) == []


def test_kernel_has_no_folder_while_it_runs_nor_after(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with contextlib.closing(start_kernel(RuntimeSpec())):
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.sandbox.level import reach_level
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.folders import ScratchFolders

kernel = Kernel(RuntimeSpec(), reach_level(), ScratchFolders(RuntimeSpec(), reach_level()))
kernel.execute(1, "0", "1")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_worker_leaves_no_folder(tmp_path):
    ended = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


NEVER_CLOSED = """
import atexit, os, time

def tell():
    deadline = time.monotonic() + 60
    while descendants(os.getpid()) and time.monotonic() < deadline:
        time.sleep(0.05)
    print(descendants(os.getpid()))

atexit.register(tell)  # first, so that it comes last
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

runtime = open_runtime(RuntimeSpec(backend="jupyter", warm_kernel_count=1))
interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
print(interpreter.run_block("6 * 7").result, len(descendants(os.getpid())) > 0)
"""


def test_kernels_that_were_never_closed_end_before_python_does():
    ended = subprocess.run([sys.executable, "-c", NEVER_CLOSED], stdout=subprocess.PIPE, check=True, timeout=240)
    assert ended.stdout.split() == [b"42", b"True", b"[]"]


FLOOD = """
import os, select, stat
def is_jupyters(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode) and not os.get_blocking(number)
    except OSError: return False
def write(number, data):
    data = memoryview(data)
    while data and select.select([], [number], [], 1)[1]:
        try: data = data[os.write(number, data[: 1 << 16]) :]
        except OSError: return
sockets = [number for number in range(3, 256) if is_jupyters(number)]
for number in sockets: write(number, b"\\x02" + (300 << 20).to_bytes(8, "big") + bytes(300 << 20))
len(sockets)
"""
"""Writes one frame of Jupyter's transport where its sockets are."""

FLOODED = """
import json, resource, sys
from carryover.tasks.runtime.jupyter import kernel
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

runtime = open_runtime(RuntimeSpec(backend="jupyter", warm_kernel_count=1, block_timeout_seconds=120))
interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
socket_count = interpreter.run_block(sys.argv[1].replace("for number in sockets:", "if False:")).result
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kernel._REPLY_SECONDS = 10.0
interpreter.run_block(sys.argv[1])
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
is_alive = interpreter.run_block("1").result == "1"
print(json.dumps([int(socket_count), grown, is_alive]))
interpreter.close()
runtime.close()
"""


def test_flood_by_jupyters_socket_does_not_reach_the_hosts_memory():
    ended = subprocess.run([sys.executable, "-c", FLOODED, FLOOD], stdout=subprocess.PIPE, check=True)
    socket_count, kilobytes, is_alive = json.loads(ended.stdout)
    assert socket_count > 0
    assert kilobytes < 100_000
    assert is_alive


PARTS = FLOOD.replace(r'b"\x02" + (300 << 20).to_bytes(8, "big") + bytes(300 << 20)', r'b"\x01\x00" * (32 << 20)')
"""Writes parts of one message of which there is always another one to come."""


def test_kernel_with_an_endless_message_counts_as_gone(jupyter, monkeypatch):
    relays = []

    def open_and_keep(connect):
        relay, listener = open_relay(connect)
        relays.append(relay)
        return relay, listener

    monkeypatch.setattr("carryover.tasks.runtime.jupyter.kernel.open_relay", open_and_keep)
    interpreter = jupyter.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    ended = interpreter.run_block(PARTS)
    after = interpreter.run_block("'alive'")
    interpreter.close()
    assert PARTS != FLOOD
    assert (ended.error.type, ended.state_event) == ("InterpreterDied", "rolled_back")
    assert relays[0].carried_bytes < 3 * ANSWER_BYTES
    assert after.result == "'alive'"


WORKER = """
import contextlib, json, os, time
from carryover.tasks.runtime.jupyter.kernel import Kernel
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.sandbox.level import reach_level
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.folders import ScratchFolders

level = reach_level()
folders = ScratchFolders(RuntimeSpec(), level)
Kernel(RuntimeSpec(), level, folders).close()  # the first one of a worker also starts what Jupyter's client shares
before = len(os.listdir("/proc/self/fd"))
with contextlib.closing(Kernel(RuntimeSpec(), level, folders)):
    grown = len(descendants(os.getpid()))
deadline = time.monotonic() + 60
left = [], 0
while time.monotonic() < deadline:
    left = descendants(os.getpid()), len(os.listdir("/proc/self/fd")) - before
    if not any(left):
        break  # ZeroMQ closes in threads
    time.sleep(0.05)
print(json.dumps([grown > 0, *left]))
"""


def test_closed_kernel_leaves_no_process_and_no_descriptor():
    ended = subprocess.run([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, check=True)
    assert json.loads(ended.stdout) == [True, [], 0]


def test_memory_of_orphans_counts_as_the_episodes():
    spec = RuntimeSpec(backend="jupyter", warm_kernel_count=1, block_timeout_seconds=120)
    runtime = open_runtime(spec.model_copy(update={"episode_memory_limit_bytes": 300 << 20}))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block(
        "import os, time\nready, mark = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n"
        "        held = bytearray(b'1') * (400 << 20)\n        os.write(mark, b'x')\n        time.sleep(60)\n"
        "    os._exit(0)\nos.wait()\nos.read(ready, 1)\ntime.sleep(60)"
    )
    interpreter.close()
    runtime.close()
    assert result.error is not None
    assert result.error.type == "MemoryLimitExceeded"
