"""Bending what the runtime remembers a state by: the state counts as lost, and no contract as broken."""

import time

import pytest

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.engine import StateLostError

WORDS = ["99", "'forged'", "'0' * 32", "None", "[]", "object()", "seen[0]"]
"""What is written in the place of the runtime's own word; the last one is its word for the first step."""
AT_FORK = """
import os
names, seen = globals(), []
def write():
    seen.append(names.get('__canary__'))
    names['__canary__'] = {word}
os.register_at_fork(before=write)
"""
IN_A_THREAD = """
import threading, time
names, seen = globals(), []
def write():
    while True:
        time.sleep(0)
        if names.get('__canary__'):
            seen.append(names['__canary__'])
            names['__canary__'] = {word}
            del seen[1:]
threading.Thread(target=write, daemon=True).start()
"""


@pytest.mark.parametrize("word", WORDS)
def test_canary_forged_at_a_fork_loses_the_state_only(open_fork_tree, word):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block(AT_FORK.format(word=word))
    assert_state_is_lost(interpreter)


@pytest.mark.parametrize("word", ["99", "seen[0]"])
def test_canary_forged_by_a_thread_loses_the_state_only(open_one, word):
    interpreter = open_one("persistent")
    interpreter.run_block(IN_A_THREAD.format(word=word))
    assert_state_is_lost(interpreter)


def test_namespace_emptied_at_a_fork_loses_the_state_only(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("import os\nos.register_at_fork(before=globals().clear)")
    assert_state_is_lost(interpreter)


def test_stateless_step_bends_nothing_in_the_next_one(open_one):
    interpreter = open_one("stateless")
    for code in (AT_FORK, IN_A_THREAD):
        interpreter.run_block(code.format(word="'0' * 32"))
        assert interpreter.verify_contract()


REMEMBERS = """
import threading, time
def write(names=globals(), seen=[], pause=time.sleep):
    while True:
        pause(0)
        if names.get('__canary__'): seen.append(names['__canary__'])
        if seen: names['__canary__'] = seen[0]
threading.Thread(target=write, daemon=True).start()
"""
"""Outlives the names of its block, and brings the runtime's word for that block back."""


def test_canary_that_outlives_its_names_loses_the_state_only(open_one):
    interpreter = open_one(Contract(name="stateless", lifetime="block", scope="namespace"))
    interpreter.run_block(REMEMBERS)
    assert_state_is_lost(interpreter)


def assert_state_is_lost(interpreter) -> None:
    """Run steps until the state is lost; a thread may need a few of them to come in time."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            assert interpreter.verify_contract()
        except StateLostError:
            return
        interpreter.run_block("__import__('time').sleep(0.01)")
    raise AssertionError("the state is not lost")
