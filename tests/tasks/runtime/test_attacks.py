"""What hostile code may try: nothing hidden is read, nothing outside is touched, the host stays up."""

import os
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from tasks.runtime.open import open_runtime
from tasks.runtime.process.descendants import descendants
from tasks.runtime.protocol import CONTRACTS, SandboxLevel
from tasks.runtime.sandbox.level import LEVELS
from tasks.runtime.spec import RuntimeSpec

SECRET = "hidden-value-4711"
BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


class World:
    """A tool world with something to hide."""

    def __init__(self) -> None:
        self.hidden = {"item": SECRET}

    def look(self, name: str) -> str:
        """Look at a name."""
        return f"{name}: {len(self.hidden)}"


@pytest.fixture
def interpreter(open_one, contract):
    return open_one(contract, {"look": World().look})


@pytest.fixture
def walled(open_one, runtime, contract):
    """An interpreter, and how much the level that this machine reached holds back."""
    return open_one(contract, {"look": World().look}), LEVELS.index(runtime.sandbox_level)


@pytest.fixture
def walled_fork_tree(open_fork_tree, fork_tree, contract):
    """The same without the sockets that a Jupyter kernel needs."""
    return open_fork_tree(contract, {"look": World().look}), LEVELS.index(fork_tree.sandbox_level)


@pytest.mark.parametrize(
    "code",
    [
        "look.__closure__ and [c.cell_contents for c in look.__closure__]",
        "import gc\n[o for o in gc.get_objects() if isinstance(o, dict) and 'hidden' in o]",
        "import gc\n[repr(o)[:500] for o in gc.get_objects()]",
        "import sys\nframe = sys._getframe()\nseen = []\nwhile frame:\n"
        "    seen += [repr(value)[:300] for value in [*frame.f_locals.values(), *frame.f_globals.values()]]\n"
        "    frame = frame.f_back\nseen",
        "'{0.__globals__}'.format(look)",
        "'{0.__init__.__globals__}'.format(type(look('a')))",
        "look.__self__",
        "look.__wrapped__",
        "import sys\n[repr(vars(m))[:2000] for m in sys.modules.values()]",
        "getattr(look, '__glo' + 'bals__')",
        "import inspect\ninspect.getsource(look)",
        "import os\nopen(f'/proc/{os.getppid()}/environ').read()",
        "open('/proc/self/mem', 'rb').read(100)",
        "import tasks.knapsack.sampling",
        "import importlib\nimportlib.import_module('tasks')",
        "import builtins\nseen, kept = [], repr\nbuiltins.repr = seen.append\nlook('a')\nbuiltins.repr = kept\nseen",
        "import os\n[os.read(fd, 1000) for fd in range(3, 64) if not os.set_blocking(fd, False)]",
    ],
)
def test_hidden_values_are_not_in_the_interpreter(interpreter, code):
    result = interpreter.run_block(code)
    assert SECRET not in f"{result.output}{result.result}{result.error}"
    assert interpreter.run_block("look('a')").result == "'a: 1'"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.listdir('/home')",
        "open('/etc/passwd').read()",
        "open('/root/.ssh/id_rsa').read()",
        "import os\nos.listdir('/proc')",
        "open('/usr/lib/kept', 'w')",
        "open('/kept', 'w')",
        "open('/dev/shm/kept', 'w')",
        "open('/tmp/kept', 'w')",
    ],
)
def test_files_of_the_host_are_out_of_reach(walled, code):
    interpreter, level = walled
    result = interpreter.run_block(code)
    skip_below("landlock+seccomp", level)
    assert result.error is not None
    assert result.error.type in ("FileNotFoundError", "PermissionError", "OSError")


@pytest.mark.parametrize("backend", BACKENDS)
def test_environment_of_the_host_does_not_enter(monkeypatch, backend, contract):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    runtime = open_runtime(RuntimeSpec(backend=backend, warm_kernel_count=1))
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    found = interpreter.run_block("import os; sorted(os.environ.items())").result
    interpreter.close()
    runtime.close()
    assert found is not None
    assert "LANG" in found
    assert "OPENAI" not in found
    assert SECRET not in found


def test_network_of_the_host_is_out_of_reach(walled):
    interpreter, level = walled
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        error = interpreter.run_block(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)").error
    skip_below("seccomp", level)
    assert error is not None
    assert error.type in ("PermissionError", "OSError", "ConnectionRefusedError")


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "import socket\nsocket.socket(socket.AF_UNIX)",
        "import socket\nsocket.socketpair()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:80', timeout=1)",
        "import subprocess\nsubprocess.run(['/bin/true'])",
        "import os\nos.execv('/bin/true', ['true'])",
        "import os\nif os.system('true') != 0: raise OSError",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.ptrace(0, 0, 0, 0) < 0: raise OSError",
        "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) < 0: raise OSError",
        "import ctypes\nif ctypes.CDLL(None).mount(b'none', b'/', b'tmpfs', 0, None) < 0: raise OSError",
        "import os\nos.memfd_create('flood')",
        "import os\nos.setuid(0)",
        "import os\nos.chroot('/')",
    ],
)
def test_network_programs_and_rights_are_denied(walled_fork_tree, code):
    interpreter, level = walled_fork_tree
    skip_below("seccomp", level)
    error = interpreter.run_block(code).error
    assert error is not None
    assert error.type in ("PermissionError", "OSError", "URLError", "FileNotFoundError")


def test_process_is_nobody_special(walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    assert interpreter.run_block("import os; os.getuid() != 0 and os.geteuid() != 0").result == "True"


def test_nothing_is_typed_into_the_workers_terminal(walled):
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


def test_signals_reach_no_process_of_the_host(walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    code = f"import os\ntry:\n    os.kill({os.getpid()}, 9)\nexcept OSError as error: print(error)"
    assert interpreter.run_block(code).output
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize(
    "frame",
    [
        "b'\\xff\\xff\\xff\\xff'",
        "b'\\x05\\x00\\x00\\x00hello'",
        "frame(['done', 99, {}])",
        "frame(['done', step, {'result': 5}])",
        "frame(['call', 'look'])",
        "frame(['call', 7, 'other', [], {}])",
        "frame({'a': 1})",
        "frame('[' * 100000)",
        "b'\\x02\\x00\\x00\\x00[]' * 1000",
        "frame(['forked', None, False, 1, True])",
    ],
)
def test_forged_frames_end_in_an_observation(interpreter, frame):
    code = f"""
import gc, json, os, struct, sys
step = 1
def frame(message):
    payload = message.encode() if isinstance(message, str) else json.dumps(message).encode()
    return struct.pack('<I', len(payload)) + payload
import stat
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, {frame})
    except OSError: pass
"""
    interpreter.run_block(code)
    interpreter.run_block("look('a')")
    interpreter.run_block("look('a')")
    result = interpreter.run_block("look('a')")
    assert result.result == "'a: 1'"


def test_pickled_payload_is_data_in_retrieval(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block(
        "import pickle\nclass Evil:\n    def __reduce__(self): return (print, ('owned',))\n"
        "payload = pickle.dumps([1])\nevil = [Evil()]"
    )
    assert isinstance(interpreter.retrieve("payload"), bytes)
    with pytest.raises(Exception, match="does not travel"):
        interpreter.retrieve("evil")


def test_generator_state_shows_neither_instance_nor_salt(open_one, contract):
    instance = "instance-4711-secret"
    interpreter = open_one(contract, instance_id=instance, salt="salt-of-the-run")
    result = interpreter.run_block(
        "import gc, random\nrepr(random.getstate()) + ' '.join(repr(o)[:99] for o in gc.get_objects())"
    )
    assert instance not in result.result
    assert "salt-of-the-run" not in result.result


def test_fork_bomb_is_bounded_and_ends(open_impatient, contract):
    interpreter = open_impatient(contract)
    result = interpreter.run_block("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert result.error is not None
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_processes_are_bounded_per_episode(walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0: time.sleep(1); os._exit(0)
        made += 1
except OSError: pass
made
"""
    assert int(interpreter.run_block(code).result) <= 64


def test_memory_flood_is_an_observation(open_fork_tree, contract):
    interpreter = open_fork_tree(contract)
    assert interpreter.run_block("x = bytearray(8 << 30)").error.type == "MemoryError"
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_episode_that_holds_too_much_memory_is_ended():
    runtime = open_runtime(RuntimeSpec(episode_memory_limit_bytes=200 << 20))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block("import time\nx = bytearray(b'1') * (300 << 20)\ntime.sleep(5)")
    alive = interpreter.run_block("'alive'").result
    interpreter.close()
    runtime.close()
    assert result.error is not None
    assert (result.error.type, alive) == ("MemoryLimitExceeded", "'alive'")


def test_endless_output_is_bounded(open_impatient, contract):
    interpreter = open_impatient(contract)
    result = interpreter.run_block("while True: print('x' * 1000)")
    assert result.error is not None
    assert 0 < len(result.output) <= 1 << 20
    assert interpreter.run_block("print('next')").output == "next\n"


def test_flood_through_descriptors_is_bounded(interpreter):
    result = interpreter.run_block("import os\nos.lseek(1, 1 << 40, 0)\nos.write(1, b'x')")
    assert result.error is not None
    assert interpreter.run_block("print('next')").output == "next\n"


def test_frame_that_trickles_in_does_not_outlast_the_limit(open_impatient, contract):
    code = """
import os, stat, struct, time
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
fd = next(fd for fd in range(3, 64) if is_socket(fd))
os.write(fd, struct.pack('<I', 1 << 20))
while True:
    try:
        os.write(fd, b'x'); time.sleep(0.03)
    except BaseException: pass
"""
    interpreter = open_impatient(contract)
    started = time.monotonic()
    assert interpreter.run_block(code).error is not None
    assert time.monotonic() - started < 60  # the frame alone would take 30,000 s
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_sabotaged_runtime_ends_with_its_process(interpreter):
    interpreter.run_block(
        "import json, builtins, os\njson.dumps = None\nbuiltins.len = None\nbuiltins.sorted = None\nos.getpid = None"
    )
    interpreter.run_block("len('ab')")
    result = interpreter.run_block("len('ab')")
    assert result.result == "2" or result.error is not None


def test_failure_of_the_runtimes_own_code_is_logged_and_not_observed(open_one, contract, caplog):
    interpreter = open_one(contract, {})
    bend = "import signal\nsignal.getsignal(signal.SIGINT).__self__.own = None"
    result = interpreter.run_block(bend)
    assert result.error is not None
    assert result.error.type == "InterpreterDied"
    assert "Traceback" not in result.output + result.error.message
    assert "Traceback" in caplog.text
    assert "heal" in caplog.text
    assert interpreter.run_block("1 + 1").result == "2"


@pytest.mark.parametrize("level", LEVELS)
def test_wall_that_a_level_lacks_is_skipped_by_name_and_never_shown_as_standing(level):
    skip_below(level, LEVELS.index(level))
    for lower in LEVELS[LEVELS.index(level) + 1 :]:
        with pytest.raises(
            pytest.skip.Exception, match=f"sandbox level {re.escape(lower)}; .* from {re.escape(level)}"
        ):
            skip_below(level, LEVELS.index(lower))


def test_two_live_episodes_do_not_see_signal_or_alter_each_other(open_one, runtime, contract):
    skip_below("bwrap+seccomp", LEVELS.index(runtime.sandbox_level))
    first, second = open_one("persistent", instance_id="a"), open_one(contract, instance_id="b")
    first.run_block("secret = 'mine'\nimport builtins\nbuiltins.patched = 1")
    attack = """
import os, signal
for process in range(2, 3000):
    if process != os.getpid():
        try: os.kill(process, signal.SIGKILL)
        except OSError: pass
"""
    seen = second.run_block("hasattr(__import__('builtins'), 'patched'), 'secret' in globals()")
    second.run_block(attack)  # it may end itself
    assert seen.result == "(False, False)"
    assert first.run_block("secret, patched").result == "('mine', 1)"
    assert first.run_block("1").state_event == "kept"


def test_busy_episode_does_not_starve_another(open_impatient, contract):
    busy, other = open_impatient(contract), open_impatient(contract)
    code = "import os\nfor _ in range(5): os.fork()\nwhile True: pass"
    thread = threading.Thread(target=busy.run_block, args=(code,))
    thread.start()
    time.sleep(0.2)
    assert other.run_block("sum(range(1000))").result == "499500"
    thread.join()


def test_what_a_block_forked_runs_after_everybody_else(open_fork_tree, contract):
    interpreter = open_fork_tree(contract)
    code = """
import os, time
child = os.fork()
if child == 0:
    while True: pass
late = time.monotonic() + 10
while os.getpriority(os.PRIO_PROCESS, child) != 19 and time.monotonic() < late: time.sleep(0.05)
os.getpriority(os.PRIO_PROCESS, child)
"""
    assert interpreter.run_block(code).result == "19"


def test_what_a_block_forked_ends_with_its_interpreter(runtime):
    mark = 4713  # a limit that no other process of the machine has
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    interpreter.run_block(
        "import os, resource\nready, mark = os.pipe()\nif os.fork() == 0:\n"
        f"    resource.setrlimit(resource.RLIMIT_CPU, ({mark}, {mark})); os.write(mark, b'x')\n"
        "    while True: pass\nseen = os.read(ready, 1)"
    )
    marked = [process for process in descendants(os.getpid()) if has_processor_limit(process, mark)]
    interpreter.close()
    assert len(marked) == 1
    deadline = time.monotonic() + 60
    while is_there(marked[0]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_there(marked[0])


def test_nothing_of_an_episode_is_left_when_it_is_closed(fork_tree):
    descriptors_before, processes_before = descriptors(), set(descendants(os.getpid()))
    interpreter = fork_tree.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block("import os, time\nif os.fork() == 0:\n    time.sleep(60)\n'parent'")
    assert result.result == "'parent'"
    grown = set(descendants(os.getpid())) - processes_before
    assert len(grown) >= 4  # the root, the live process, its copy, and the block's own child
    interpreter.close()
    deadline = time.monotonic() + 60
    while any(is_there(process) for process in grown) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_there(process) for process in grown)
    assert descriptors() <= descriptors_before


def skip_below(needed: SandboxLevel, reached: int) -> None:
    """Skip the test where the machine's level is too low to hold back what it tries: nothing can be shown there."""
    if reached > LEVELS.index(needed):
        pytest.skip(f"sandbox level {LEVELS[reached]}; this is held back from {needed} on")


def descriptors() -> set[str]:
    """Return the open descriptors of this process, but for the one that lists them."""
    return {entry.name for entry in os.scandir("/proc/self/fd")}


def has_processor_limit(process: int, seconds: int) -> bool:
    """Tell whether a process may use so many seconds of processor time."""
    try:
        lines = Path(f"/proc/{process}/limits").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return any(line.split()[:4] == ["Max", "cpu", "time", str(seconds)] for line in lines)


def is_there(process: int) -> bool:
    """Tell whether a process of this machine runs or waits to be collected."""
    return Path(f"/proc/{process}").exists()
