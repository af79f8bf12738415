"""Taking more than one's share: processes, memory, disk, output."""

import contextlib
import gc
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from tests.tasks.runtime.opened import engine_of


def test_fork_bomb_is_bounded_and_ends(open_one, contract, limited):
    interpreter = open_one(contract)
    with limited(interpreter, seconds=1.0, grace_seconds=1.0):
        result = interpreter.run_block("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert result.error is not None
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_processes_are_bounded_per_episode(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    code = """
import os, time
made = []
try:
    while len(made) < 500:
        child = os.fork()
        if child == 0: time.sleep(600); os._exit(0)
        made.append(child)
except OSError: pass
for child in made: os.kill(child, 9)
for child in made: os.waitpid(child, 0)
len(made)
"""
    assert int(interpreter.run_block(code).result) <= 64


def test_memory_flood_is_an_observation(open_one, contract):
    interpreter = open_one(contract)
    assert interpreter.run_block("x = bytearray(8 << 30)").error.type == "MemoryError"
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize("backend", ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def test_episode_that_holds_too_much_memory_is_ended(backend, contract):
    bounds = RuntimeSpec(backend=backend, warm_kernel_count=1, block_timeout_seconds=120)
    runtime = open_runtime(bounds.model_copy(update={"episode_memory_limit_bytes": 200 << 20}))
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    result = interpreter.run_block("import time\nx = bytearray(b'1') * (300 << 20)\ntime.sleep(60)")
    alive = interpreter.run_block("'alive'").result
    interpreter.close()
    runtime.close()
    assert result.error is not None
    assert (result.error.type, alive) == ("MemoryLimitExceeded", "'alive'")


def test_endless_output_is_bounded(open_one, contract, limited):
    interpreter = open_one(contract)
    with limited(interpreter):
        result = interpreter.run_block("while True: print('x' * 1000)")
    assert result.error is not None
    assert 0 < len(result.output) <= 1 << 20
    assert interpreter.run_block("print('next')").output == "next\n"


def test_flood_through_descriptors_is_bounded(interpreter):
    result = interpreter.run_block("import os\nos.lseek(1, 1 << 40, 0)\nos.write(1, b'x')")
    assert result.error is not None
    assert interpreter.run_block("print('next')").output == "next\n"


@pytest.mark.slow
def test_arguments_that_are_too_large_are_refused_and_not_kept(open_with):
    interpreter = open_with("persistent", {"inspect": lambda item: "seen"}, block_timeout_seconds=120)
    code = """
told = set()
for _ in range(4):
    try: inspect([[]] * 5_000_000)
    except Exception as error: told.add(f"{type(error).__name__}: {error}")
told, inspect([[]] * 300_000)
"""
    with little_memory():
        result = interpreter.run_block(code)
    text = "ToolInvocationException: inspect: arguments must take 1048576 bytes at most, and not 15000027"
    assert result.result == f"({{{text!r}}}, 'seen')"
    assert len(result.tool_calls) == 1


def test_calls_that_take_much_together_are_refused_and_not_kept(open_one):
    interpreter = open_one("persistent", {"inspect": lambda item: "seen"}, tool_call_cap=None)
    code = """
seen = []
for _ in range(120):
    try: seen.append(inspect('x' * 1_000_000))
    except Exception as error: seen.append(str(error))
assert 'last' in seen, seen[-1]
"""
    told = "Tool call limit exceeded: the calls of a code block and their replies may take 4194304 bytes"
    with little_memory():
        results = [interpreter.run_block(code) for _ in range(2)]
    for result in results:
        assert result.error is not None
        assert result.error.message.endswith(f"AssertionError: {told}")
        assert [call.error_type for call in result.tool_calls] == [None] * 4 + ["ToolCallLimitError"] * 100
        assert sum(len(call.arguments_json) for call in result.tool_calls) < 5 << 20
    uncaught = interpreter.run_block("for _ in range(9): inspect('x' * 1_000_000)")
    assert uncaught.error is not None
    assert (uncaught.error.kind, uncaught.error.type) == ("cap", "ToolCallLimitError")


def test_replies_that_take_much_together_end_the_calls(open_one):
    interpreter = open_one("persistent", {"tell": lambda: "x" * 1_000_000}, tool_call_cap=None)
    result = interpreter.run_block("while True: tell()")
    assert result.error is not None
    assert result.error.kind == "cap"
    assert len(result.tool_calls) == 6


def test_frame_that_no_tool_sends_ends_the_block(open_one):
    interpreter = open_one("persistent", {"inspect": lambda item: "seen"})
    code = """
import os, stat, struct
payload = b'["call",1,"inspect",[[' + b'[],' * 5_000_000 + b'[]]],{}]'
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
for fd in filter(is_socket, range(3, 64)):
    try: os.write(fd, struct.pack('<I', len(payload)) + payload)
    except OSError: pass
"""
    with little_memory():
        result = interpreter.run_block(code)
    assert result.error is not None
    assert (result.error.type, result.tool_calls) == ("InterpreterDied", ())
    assert interpreter.run_block("inspect(1)").result == "'seen'"


@pytest.mark.parametrize("name", ["f'n{n}'", "chr(0x10400) * 5000 + str(n)"])
def test_names_that_are_too_many_are_dropped_and_told(open_one, name):
    interpreter = open_one("persistent")
    flood = f"print('seen')\nfor n in range(300_000): globals()[{name}] = 1\n1 / 0"
    if "chr" in name:
        flood = flood.replace("300_000", "300")
    result = interpreter.run_block(flood)
    assert result.error is not None
    assert (result.error.type, result.output) == ("ZeroDivisionError", "seen\n")
    assert sum(map(len, result.last_step_globals)) <= 100_000
    assert result.notices[0] == notices.NAMES_DROPPED.format(limit=100_000)
    given = {"json", *(entry.name for entry in interpreter.injected)}
    listed = f"sum(1 for name in globals() if not name.startswith('__') and name not in {given})"
    following = interpreter.run_block(listed)
    assert following.result == str(len(result.active_globals)) != "0"
    assert following.notices == ()


def test_name_of_an_exception_is_cut(open_one):
    result = open_one("persistent").run_block("raise type('E' * 9_000_000, (Exception,), {})")
    assert result.error is not None
    assert result.error.type == "E" * 1000


GROWTH = 200 << 20
"""Bytes that the host may need for a while to answer a block; the lists of the frames that it is sent take more."""


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Fail where this process grows by much meanwhile, also where it has shrunk since."""
    with garbage_collected_as_usual():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        before = peak_memory()
        yield
        assert peak_memory() - before < GROWTH


@contextlib.contextmanager
def garbage_collected_as_usual() -> Iterator[None]:
    """Collect garbage as often as a program does: the tests' own process does so seldom."""
    of_tests = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.collect()
    try:
        yield
    finally:
        gc.set_threshold(*of_tests)


def peak_memory() -> int:
    """Return the most resident memory of this process since the peak began anew, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def test_peak_is_seen_of_memory_that_was_given_back():
    with pytest.raises(AssertionError), little_memory():
        assert bytearray(b"1") * (2 * GROWTH)


LIMIT = 200 << 20
LIMIT_EXCEEDED = "MemoryLimitExceeded"


def test_memory_that_quick_steps_pile_up_is_ended_soon(open_with):
    interpreter = open_with("persistent", episode_memory_limit_bytes=LIMIT)
    interpreter.run_block("kept = []")
    errors = (interpreter.run_block("kept.append(bytearray(b'1') * (60 << 20))").error for _ in range(30))
    first = next(filter(None, errors), None)
    assert first is not None
    assert first.type in (LIMIT_EXCEEDED, "InterpreterDied")  # in a step, or between two by the watcher
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_state_without_room_is_lost_with_its_block(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    engine = engine_of(interpreter)
    engine.spec = engine.spec.model_copy(update={"episode_memory_limit_bytes": LIMIT})
    assert interpreter.run_block(f"kept = bytearray(b'1') * {LIMIT - (12 << 20)}").error is None
    killed = interpreter.run_block(f"import time\nmore = bytearray(b'1') * {LIMIT}\ntime.sleep(60)")
    alive = [interpreter.run_block("'alive', 'kept' in globals()").result for _ in range(2)]
    assert killed.error is not None
    assert (killed.error.type, killed.state_event) == (LIMIT_EXCEEDED, "lost")
    assert alive == ["('alive', False)"] * 2


def test_memory_is_looked_at_between_tool_calls_that_never_pause(open_with):
    interpreter = open_with(
        "persistent", {"look": lambda: 1}, episode_memory_limit_bytes=LIMIT, block_timeout_seconds=60
    )
    code = """
kept = []
while True:
    try: look()
    except Exception: pass
    kept.append(bytearray(b'1') * (1 << 18))
"""
    result = interpreter.run_block(code)
    assert result.error is not None
    assert result.error.type == LIMIT_EXCEEDED
    held = int(result.error.message.split("holds ")[1].split(" MiB")[0])
    assert held < 1500


LEFT_GROWING = """
import os, threading, time
def grow():
    time.sleep(2)
    global held
    held = bytearray(b'1') * (400 << 20)
    time.sleep(600)
"""
"""Grows two seconds after its block, so between two steps: nothing else of a block runs there."""


@pytest.mark.parametrize("start", ["if os.fork() == 0: grow()", "threading.Thread(target=grow, daemon=True).start()"])
def test_memory_that_a_block_leaves_growing_is_ended_between_steps(open_with, roots, start):
    interpreter = open_with("persistent", episode_memory_limit_bytes=LIMIT)
    assert interpreter.run_block(LEFT_GROWING + start).error is None
    (root,) = roots
    ended, _, _ = select.select([root.handle], [], [], 60)
    assert ended
    result = interpreter.run_block("1")
    assert result.error is not None
    assert result.error.type == "InterpreterDied"
    assert interpreter.run_block("'alive'").result == "'alive'"
