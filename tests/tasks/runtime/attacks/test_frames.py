"""Forging what the runtime says, and breaking its code from within: the step ends as an observation."""

import bisect
import time

import pytest


@pytest.mark.parametrize(
    "frame",
    [
        "b'\\xff\\xff\\xff\\xff'",
        "b'\\x05\\x00\\x00\\x00hello'",
        "frame(['done', 99, {}])",
        "frame(['done', step, {'result': 5}])",
        "frame(['call', 'look'])",
        "frame(['call', 7, 'other', [], {}])",
        "frame(['offer', 7, 'look', 64, []])",
        "frame(['offer', 7, 'look', 1 << 40, []])",
        "frame(['offer', 7, 'look', 0, []])",
        "frame(['offer', 7, 'look', 64, ['os']])",
        "frame(['filled', 7])",
        "frame(['offer', 7, 'look', 64, []]) + frame(['filled', 7])",
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
        if stat.S_ISSOCK(os.fstat(fd).st_mode) and os.write(1, b'found'): os.write(fd, {frame})
    except OSError: pass
"""
    assert "found" in interpreter.run_block(code).output
    interpreter.run_block("look('a')")
    interpreter.run_block("look('a')")
    result = interpreter.run_block("look('a')")
    assert result.result == "'a: 1'"


NESTED = """
import os, stat, struct
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
payload = b'["call",1,"look",[' + b'[' * {depth} + b']' * {depth} + b'],{{}}]'
for fd in filter(is_socket, range(3, 64)):
    try: os.write(fd, struct.pack('<I', len(payload)) + payload)
    except OSError: pass
"""


def test_call_nested_too_deep_ends_its_block(open_fork_tree):
    """Python 3.11 answers calls of up to about 980 levels, newer ones deeper calls (3.14: tens of thousands)."""
    interpreter = open_fork_tree("stateless", {"look": len})

    def error_of(depth):
        return interpreter.run_block(NESTED.format(depth=depth)).error

    too_deep = bisect.bisect(range(400_000), False, key=lambda depth: error_of(depth) is not None)
    errors = [error_of(depth) for depth in range(too_deep - 100, too_deep + 100)]
    assert too_deep > 900
    assert {error.type for error in errors if error is not None} == {"InterpreterDied"}
    assert interpreter.run_block("look('abc')").result == "3"


def test_frame_that_trickles_in_does_not_outlast_the_limit(open_one, contract, limited):
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
    interpreter = open_one(contract)
    started = time.monotonic()
    with limited(interpreter, seconds=1.0, grace_seconds=0.3):
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


def test_failure_of_the_runtimes_code_is_logged_not_observed(open_one, contract, caplog):
    interpreter = open_one(contract, {})
    bend = "import signal\nsignal.getsignal(signal.SIGINT).__self__.own = None"
    result = interpreter.run_block(bend)
    assert result.error is not None
    assert result.error.type == "InterpreterDied"
    assert "Traceback" not in result.output + result.error.message
    assert "Traceback" in caplog.text
    assert "heal" in caplog.text
    assert interpreter.run_block("1 + 1").result == "2"
