"""Reaching out of the sandbox: files, network, programs, rights, the terminal, processes of the host."""

import re
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.listdir('/home')",
        "open('/etc/passwd').read()",
        "open('/root/.ssh/id_rsa').read()",
        "open('/proc/self/environ').read()",
        "import os\nos.listdir('/proc/1')",
        "open('/proc/cpuinfo', 'w')",
        "open('/usr/lib/kept', 'w')",
        "open('/kept', 'w')",
        "open('/dev/shm/kept', 'w')",
        "open('{folder}/there').read()",
        "open('{folder}/there', 'a')",
        "open('{folder}/new', 'w')",
        "import os\nos.listdir('{folder}')",
        "import os\nos.remove('{folder}/there')",
    ],
)
def test_files_of_the_host_are_out_of_reach(skip_below, walled, tmp_path, code):
    interpreter, level = walled
    skip_below("landlock+seccomp", level)
    (tmp_path / "there").touch()
    result = interpreter.run_block(code.format(folder=tmp_path))
    assert result.error is not None
    assert result.error.type in ("FileNotFoundError", "PermissionError", "OSError")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_network_of_the_host_is_out_of_reach(skip_below, walled):
    interpreter, level = walled
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        error = interpreter.run_block(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)").error
    skip_below("seccomp", level)
    assert error is not None
    assert error.type in ("PermissionError", "OSError", "ConnectionRefusedError")


RIGHTS = """
import ctypes, struct
rights = ctypes.create_string_buffer(24)
ctypes.CDLL(None).capget(struct.pack('<Ii', 0x20080522, 0), rights), rights.raw.hex().strip('0')
"""


def test_block_has_no_right_of_root(walled):
    assert walled[0].run_block(RIGHTS).result == "(0, '')"


ATTEMPTS = {
    "stream to the network": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "datagram to the network": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "stream to the machine": "socket.socket(socket.AF_UNIX)",
    "datagram to the machine": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {address!r})",
    "pair of streams": "socket.socketpair()",
    "datagram from a pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {address!r})",
    "request": "urllib.request.urlopen('http://127.0.0.1:{port}', timeout=1)",
    "subprocess": "subprocess.run([sys.executable, '-c', ''])",
    "exec": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "spawn": "os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {{}})",
    "ptrace": "call('ptrace', 0, 0, 0, 0)",
    "read of memory": "call('process_vm_readv', os.getpid(), byref(ours), 1, byref(theirs), 1, 0)",
    "write of memory": "call('process_vm_writev', os.getpid(), byref(ours), 1, byref(theirs), 1, 0)",
    "descriptor of a process": "call('syscall', 438, os.pidfd_open(os.getpid()), 0, 0)",  # pidfd_getfd, everywhere
    "user namespace": "call('unshare', 0x10000000)",
    "mount": "call('mount', b'none', b'/', b'tmpfs', 0, None)",
    "residency of pages": "os.preadv(os.open(os.__file__, os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT)",
    "written pages": "os.pwritev(1, [b''], 0, os.RWF_NOWAIT)",
    "advice on pages": "os.posix_fadvise(os.open(os.__file__, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)",
    "pages read ahead": "call('readahead', os.open(os.__file__, os.O_RDONLY), 0, 4096)",
    "map of pages": "call('mincore', None, 0, memory)",
    "statistics of pages": "call('syscall', 451, os.open(os.__file__, os.O_RDONLY), memory, memory, 0)",  # cachestat
    "file in memory": "os.memfd_create('flood')",
    "attributes in memory": "os.setxattr(1, 'user.flood', b'x')",
    "mode": "os.chmod({own!r}, 0o640)",
    "mode of a descriptor": "os.fchmod(os.open({own!r}, os.O_RDONLY), 0o640)",
    "owner": "os.chown({own!r}, -1, os.getgid())",
    "owner of a descriptor": "os.fchown(os.open({own!r}, os.O_RDONLY), -1, os.getgid())",
    "owner of a link": "os.lchown({own!r}, -1, os.getgid())",
    "times": "os.utime({own!r}, (4711, 4711))",
    "times of a descriptor": "os.utime(os.open({own!r}, os.O_RDONLY), (4711, 4711))",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 7)",
    "processors": "os.sched_setaffinity(os.getppid(), {{0}})",
    "limits": "resource.prlimit(os.getppid() or 1, resource.RLIMIT_CPU, (4711, 4711))",
}
TRY_ALL = """
import ctypes, os, resource, socket, subprocess, sys, urllib.request
from ctypes import byref
libc = ctypes.CDLL(None, use_errno=True)
class Part(ctypes.Structure): _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))
memory = ctypes.create_string_buffer(16)
ours, theirs = Part(ctypes.addressof(memory), 8), Part(ctypes.addressof(memory) + 8, 8)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
passed = []
for name, code in {attempts}.items():
    try:
        exec(code)
        passed.append(name)
    except OSError: pass
passed
"""
BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


def try_all(interpreter: Interpreter) -> BlockResult:
    """Let a block try everything, while somebody on the host waits for what it sends; it tells what was not denied."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener,
        socket.create_server(("127.0.0.1", 0)) as server,
        tempfile.NamedTemporaryFile() as own,
    ):
        listener.bind(b"")  # the kernel chooses an abstract name: no file wall is before it
        listener.setblocking(False)
        server.setblocking(False)
        words = {"address": listener.getsockname(), "port": server.getsockname()[1], "own": own.name}
        attempts = {name: code.format(**words) for name, code in ATTEMPTS.items()}
        result = interpreter.run_block(TRY_ALL.format(attempts=attempts))
        with pytest.raises(BlockingIOError):
            listener.recv(1)
        with pytest.raises(BlockingIOError):
            server.accept()
    return result


def test_network_programs_memory_and_rights_are_denied(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    assert try_all(interpreter).result == "[]"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["landlock+seccomp", "seccomp"])
def test_lower_levels_deny_them_too(backend, level):
    try:
        runtime = open_runtime(RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {"look": lambda: "seen"}, instance_id="a")
    passed = try_all(interpreter).result
    seen = interpreter.run_block("look()").result
    interpreter.close()
    runtime.close()
    assert (passed, seen) == ("[]", "'seen'")


@pytest.mark.kernel
def test_threads_that_jupyter_started_are_behind_the_filter_as_well(jupyter, roots, skip_below):
    skip_below("seccomp", jupyter.sandbox_level)
    code = """
import asyncio, gc, socket, threading
told, wait = [], threading.Event()
def make_socket():
    try: socket.socket(); told.append(threading.current_thread().name)
    except PermissionError: told.append("denied")
    if len(told) == len(loops) + 1: wait.set()
loops = [o for o in gc.get_objects() if isinstance(o, asyncio.AbstractEventLoop)]
loops = [loop for loop in loops if loop.is_running() and loop._thread_id != threading.get_ident()]
for loop in loops: loop.call_soon_threadsafe(make_socket)
threading.Thread(target=make_socket).start()
wait.wait(18), set(told)
"""
    interpreter = jupyter.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block(code)
    (keeper,) = roots
    (kernel,) = keeper.family - {keeper}
    process = kernel.process_id()
    statuses = [(thread / "status").read_text() for thread in Path(f"/proc/{process}/task").iterdir()]
    interpreter.close()
    assert result.result == "(True, {'denied'})"
    assert len(statuses) > 2  # ZeroMQ's, too
    assert all("Seccomp:\t2\n" in status for status in statuses)


OPEN_MEMORY = """
import os
told = {}
for process in filter(str.isdigit, os.listdir('/proc')):
    try:
        open(f'/proc/{process}/mem', 'r+b').close()
        with open(f'/proc/{process}/status') as lines:
            told[process] = dict(line.split(':', 1) for line in lines)['Seccomp'].strip()
    except OSError: pass
len(told) > 0, set(told.values())
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_processes_with_writable_memory_are_behind_the_filter(backend):
    try:
        runtime = open_runtime(RuntimeSpec(backend=backend, sandbox="seccomp", warm_kernel_count=1))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block(OPEN_MEMORY).result
    interpreter.close()
    runtime.close()
    assert result == "(True, {'2'})"


def test_process_is_nobody_special(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    assert interpreter.run_block("import os; os.getuid() != 0 and os.geteuid() != 0").result == "True"


def test_nothing_is_typed_into_the_workers_terminal(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    typed = interpreter.run_block(
        "import fcntl, os\n"
        "def type_into(descriptor):\n"
        "    try:\n        fcntl.ioctl(descriptor, 0x5412, b'x')\n"
        "    except OSError as error:\n        return type(error).__name__\n"
        "{type_into(n) for n in range(256)}, os.path.exists('/dev/tty')"
    ).result
    assert typed.startswith("({'PermissionError'}")
    skip_below("bwrap+seccomp", level)
    assert typed.endswith("False)")


def test_signals_reach_no_process_of_the_host(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    with subprocess.Popen(["sleep", "600"]) as victim:
        code = f"import os\ntry:\n    os.kill({victim.pid}, 9)\nexcept OSError: pass"
        interpreter.run_block(code)  # in a numbering of its own the number may be the block's
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                victim.wait(0.2)
        finally:
            victim.kill()
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize("level", LEVELS)
def test_missing_wall_is_skipped_by_name(skip_below, level):
    skip_below(level, level)
    for lower in LEVELS[LEVELS.index(level) + 1 :]:
        with pytest.raises(
            pytest.skip.Exception, match=f"sandbox level {re.escape(lower)}; .* from {re.escape(level)}"
        ):
            skip_below(level, lower)
