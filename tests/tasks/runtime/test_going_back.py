"""After a step that was killed, a restore and a branch: what is there, what is gone, and what the model is told."""

import contextlib
import dataclasses
from collections.abc import Callable

import pandas as pd
import polars as pl
import pytest

from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.interpreter import Interpreter
from tests.tasks.runtime.opened import wait_until_lost

ROLLED_BACK = "The interpreter was rolled back to its state before this step."
THREADS_GONE = "Threads that earlier steps started are gone."
RUN_AGAIN = (
    "Earlier blocks were run again with their recorded tool results to get that state back; "
    "threads that they had started are gone, and those that they started again begin anew."
)
AFTER_A_KILL = {
    ("fork_tree", "persistent"): ("rolled_back", (ROLLED_BACK,)),
    ("fork_tree", "stateless"): ("rolled_back", (ROLLED_BACK,)),
    ("jupyter", "persistent"): ("rolled_back", (ROLLED_BACK, RUN_AGAIN)),
    ("jupyter", "stateless"): ("rolled_back", (ROLLED_BACK,)),
}
"""A kernel has no frozen copy; a stateless episode has no state to bring about again."""
EXIT = "import os; os._exit(0)"
KILLS = {
    "exit": (EXIT, "InterpreterDied"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "InterpreterDied"),
    "kill": ("import os; os.kill(os.getpid(), 9)", "InterpreterDied"),
    "time limit": (
        "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
        "StepTimeout",
    ),
    "memory limit": ("import time\nflood = bytearray(b'1') * (500 << 20)\ntime.sleep(60)", "MemoryLimitExceeded"),
}
LITTLE_MEMORY = {"episode_memory_limit_bytes": 300 << 20}
HEEDED_BY_NOBODY = 0.3
"""Seconds from an interrupt to the kill."""
WAYS = ["rollback", "restore", "branch"]


def go_back(
    interpreter: Interpreter, way: str, meanwhile: Callable[[], None] = lambda: None
) -> tuple[Interpreter, tuple[str, ...]]:
    """Go back in one of three ways; return the interpreter that goes on, and what the model is told.

    `meanwhile` is called when the state to go back to is there, for a snapshot: frozen.
    """
    snapshot = interpreter.snapshot() if way == "restore" else None
    meanwhile()
    match way:
        case "rollback":
            return interpreter, interpreter.run_block(EXIT).notices
        case "restore":
            assert snapshot is not None
            notices = interpreter.restore(snapshot)
            snapshot.close()
            return interpreter, notices
    other = interpreter.branch()
    return other, other.run_block("pass").notices


@pytest.mark.parametrize("way", KILLS)
def test_killed_step_is_undone_and_the_model_is_told(runtime, open_with, contract, limited, way):
    code, error_type = KILLS[way]
    interpreter = open_with(contract, **(LITTLE_MEMORY if way == "memory limit" else {}))
    interpreter.run_block("x = [1]")
    with limited(interpreter, grace_seconds=HEEDED_BY_NOBODY) if way == "time limit" else contextlib.nullcontext():
        result = interpreter.run_block(f"print('before')\nx = globals().get('x', []); x.append(2); y = 1\n{code}")
    is_kept = contract.name == "persistent"
    names = ("x",) if is_kept else ()
    assert (result.error.kind, result.error.type, result.output) == ("interpreter", error_type, "before\n")
    assert (result.state_event, result.notices) == AFTER_A_KILL[runtime.backend, contract.name]
    assert (result.active_globals, result.last_step_globals) == (names, names)
    assert interpreter.verify_contract()
    assert interpreter.run_block("globals().get('x'), 'y' in globals()").result == str(
        ([1] if is_kept else None, False)
    )


def test_time_limit_says_that_the_block_was_killed(open_one, contract, limited):
    interpreter = open_one(contract)
    with limited(interpreter, grace_seconds=HEEDED_BY_NOBODY):
        error = interpreter.run_block(KILLS["time limit"][0]).error
    assert error.message == "StepTimeout: the block ran longer than 1.5 s and was killed"


def test_contracts_tell_of_a_killed_step_in_the_same_words(open_fork_tree):
    results = [open_fork_tree(name).run_block(EXIT) for name in ("persistent", "stateless")]
    assert results[0][:9] == results[1][:9]


def test_rollback_keeps_what_only_a_process_can_hold(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = [1]\ngenerator = (n for n in range(9)); next(generator)")
    result = interpreter.run_block(f"x.append(2)\n{EXIT}")
    assert result.active_globals == ("generator", "x")
    assert interpreter.run_block("x, next(generator)").result == "([1], 1)"


def test_killed_step_is_not_run_by_a_later_replay(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = 1")
    interpreter.run_block(EXIT)
    interpreter.run_block("y = 2")
    snapshot = interpreter.snapshot()
    interpreter.restore(snapshot)
    assert interpreter.run_block("y, x").result == "(2, 1)"
    snapshot.close()


@pytest.mark.kernel
def test_kernel_that_ends_between_steps_breaks_no_contract(open_jupyter):
    interpreter = open_jupyter("persistent")
    interpreter.run_block("x = 1")
    interpreter.run_block(
        "import os, threading, time\ndef end():\n"
        "    while '__canary__' not in globals(): time.sleep(0.01)\n"  # the runtime's mark that the block has ended
        "    time.sleep(1)\n    os._exit(0)\nthreading.Thread(target=end).start()"
    )
    assert wait_until_lost(interpreter)
    with pytest.raises(StateLostError):
        interpreter.verify_contract()
    ended = interpreter.run_block("1")
    assert (ended.error.type, ended.state_event) == ("InterpreterDied", "rolled_back")
    assert interpreter.run_block("'alive'").result == "'alive'"


NAMED_THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True, name=f"beat {time.monotonic_ns()}").start()
"""
THREADS = "sorted(thread.name for thread in threading.enumerate() if thread.name.startswith('beat'))"


@pytest.mark.parametrize("way", WAYS)
def test_model_is_told_that_threads_are_gone(runtime, open_one, way):
    interpreter = open_one("persistent")
    interpreter.run_block(NAMED_THREAD)
    names = interpreter.run_block(THREADS).result
    assert names.startswith("['beat ")
    back, notices = go_back(interpreter, way)
    is_fork = runtime.backend == "fork_tree"
    if way == "rollback":
        assert notices[:2] == (ROLLED_BACK, THREADS_GONE if is_fork else RUN_AGAIN)
    else:
        assert notices[0] == (THREADS_GONE if is_fork else RUN_AGAIN)
    left = back.run_block(f"import threading\n{THREADS}").result
    assert left == "[]" if is_fork else left != names
    back.close()


@pytest.mark.parametrize("way", WAYS)
def test_restoring_a_stateless_state_tells_of_no_threads(runtime, open_one, way):
    interpreter = open_one("stateless")
    interpreter.run_block(NAMED_THREAD)
    back, notices = go_back(interpreter, way)
    assert notices == (AFTER_A_KILL[runtime.backend, "stateless"][1] if way == "rollback" else ())
    assert back.run_block(f"import threading\n{THREADS}").result == "[]"
    back.close()


def test_branch_tells_once_what_did_not_come_along(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block(NAMED_THREAD)
    other = interpreter.branch()
    assert [bool(other.run_block("pass").notices) for _ in range(2)] == [True, False]
    other.close()


LIBRARIES = {
    "polars": (pl.DataFrame, "import polars", "frame.group_by(polars.col('a') % 2).len()['len'].sum()"),
    "pandas": (pd.DataFrame, "import pandas", "int(frame.groupby(frame['a'] % 2).size().sum())"),
}


@pytest.mark.parametrize("library", ["polars", pytest.param("pandas", marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS)
def test_frames_do_not_hang_after_going_back(open_one, way, library):
    make_frame, load, grouped = LIBRARIES[library]
    own = f"{load}\nframe = {library}.DataFrame({{'a': range(1000)}})\n{grouped}"
    interpreter = open_one("persistent")
    interpreter.inject("given", make_frame({"a": range(1000)}))
    assert interpreter.run_block(own).result == "1000"
    back, notices = go_back(interpreter, way)
    for name in ("frame", "given"):
        assert back.run_block(f"{load}\nframe = {name}\n{grouped}").result == "1000"
        assert back.retrieve(name).equals(make_frame({"a": range(1000)}))
    if library == "polars":
        assert notices[-1] == RUN_AGAIN
    back.close()


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_stateless_blocks_do_not_hang_after_a_kill(open_one, library):
    make_frame, load, grouped = LIBRARIES[library]
    interpreter = open_one("stateless")
    interpreter.inject("frame", make_frame({"a": range(1000)}))
    assert interpreter.run_block(f"{load}\n{grouped}").result == "1000"
    interpreter.run_block(EXIT)
    assert interpreter.run_block(f"{load}\n{grouped}").result == "1000"
    assert interpreter.retrieve("frame").equals(make_frame({"a": range(1000)}))


def test_library_threads_work_over_many_persistent_steps(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("import polars as pl\nframe = pl.DataFrame({'a': list(range(1000))})")
    for bound in range(20):
        assert interpreter.run_block(f"frame.filter(pl.col('a') > {bound}).height").result == str(999 - bound)


def test_numeric_library_works_over_many_persistent_steps(open_one):
    interpreter = open_one("persistent")
    assert interpreter.run_block("import numpy as np\ntable = np.ones((300, 300))\nNone").error is None
    for power in range(1, 5):
        assert interpreter.run_block("table = table @ table / 300\nfloat(table.sum())").result == "90000.0", power


@dataclasses.dataclass
class Place:
    """A type to inject."""

    x: int


@dataclasses.dataclass
class Spot:
    """Another type to inject."""

    x: int


def halve(number: int) -> int:
    """Return half of the number."""
    return number // 2


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


@pytest.mark.parametrize("way", [*WAYS, "time limit"])
def test_what_was_injected_is_there_after_going_back(open_one, contract, limited, way):
    calls = []
    interpreter = open_one(contract, {"look": lambda: "seen"})

    def inject_later() -> None:
        for name, value in {"write": calls.append, "cart": [2], "Spot": Spot}.items():
            interpreter.inject(name, value)
        interpreter.inject("halve", halve, runs_in="sandbox")

    for name, value in {"note": calls.append, "basket": [1], "Place": Place}.items():
        interpreter.inject(name, value)
    interpreter.inject("double", double, runs_in="sandbox")
    interpreter.run_block("x = 1")
    if way == "time limit":
        inject_later()
        with limited(interpreter, grace_seconds=HEEDED_BY_NOBODY):
            assert interpreter.run_block(KILLS["time limit"][0]).notices
        back = interpreter
    else:
        back, _ = go_back(interpreter, way, inject_later)
    for _ in range(2):
        calls.clear()
        result = back.run_block("note(look()); write(halve(8)); place = Place(double(2)); basket, cart, Spot(place.x)")
        assert (result.result, calls) == ("([1], [2], Spot(x=4))", ["seen", 4])
    assert (back.retrieve("basket"), back.retrieve("cart")) == ([1], [2])
    if contract.name == "persistent":
        assert back.retrieve("place") == Place(4)
    assert len(back.injected) == 8
    back.close()


def test_replay_restores_a_state_whose_copy_was_killed(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = 1")
    result = interpreter.run_block("import os, signal\nos.kill(-1, signal.SIGKILL)\nos._exit(0)")
    assert (result.state_event, result.notices) == ("rolled_back", (ROLLED_BACK, RUN_AGAIN))
    assert interpreter.run_block("x").result == "1"


def test_state_with_a_frame_is_branched_without_running_anything_again(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.inject("given", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    interpreter.run_block("import pandas\nmade = pandas.concat([given, given])")
    interpreter.retrieve("made")
    branch = interpreter.branch()
    assert branch.events[-1].detail == {"event": "rolled_back", "notices": [], "salt": "/1"}
    assert branch.run_block("len(made)").result == "4"
    branch.close()
