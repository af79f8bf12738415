"""What a block leaves running writes to the host when no block runs."""

import tracemalloc

import pytest

from carryover.tasks.runtime.objects import RetrievalError
from tests.tasks.runtime.opened import wait_until_lost

LATER = """
import os, stat, struct, threading, time
names = globals()
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
def write():
    payload = b'["answer",[' + b'[],' * 4_000_000 + b'[]]]'
    while not names.get('__canary__'): time.sleep(0.01)
    time.sleep(0.3)
    for fd in filter(is_socket, range(3, 64)):
        try: os.write(fd, struct.pack('<I', len(payload)) + payload)
        except OSError: pass
threading.Thread(target=write, daemon=True).start()
"""
"""Writes one frame to all sockets once the step's end is near: it says what an answer would, at length."""


def test_frame_that_no_answer_needs_is_not_read_between_steps(open_one):
    interpreter = open_one("persistent")
    before = interpreter.snapshot()
    assert interpreter.run_block(LATER).error is None
    tracemalloc.start()
    try:
        is_lost = wait_until_lost(interpreter)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert is_lost
    assert peak < 8 << 20
    assert interpreter.run_block("1").error.type == "InterpreterDied"
    interpreter.restore(before)  # a replay of the block would start its thread anew
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_answer_between_steps_may_be_long(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("globals()[chr(0x10400) * 90_000] = 1\nx = 'x' * 1_000_000")
    assert len(interpreter.retrieve("x")) == 1_000_000
    assert interpreter.drop_name(chr(0x10400) * 90_000)
    with pytest.raises(RetrievalError, match="no variable"):
        interpreter.retrieve("y")
