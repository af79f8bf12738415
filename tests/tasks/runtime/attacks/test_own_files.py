"""Marks on what belongs to the worker's own user: files that all episodes see, and the memory of waiting processes.

Root gives its blocks to nobody, who owns nothing; a worker that is not root shares its user with them.
"""

import ast
import tempfile
from typing import NamedTuple

import pytest

from carryover.tasks.runtime.runtime_spec import SandboxLevel
from carryover.tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError, reach_level
from tests.flattening import flat
from tests.tasks.runtime.attacks.another_user import told_by_another_user

BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]
MARK_ALL = """
import os

def is_open(process):
    try: return open(f'/proc/{{process}}/mem', 'r+b').close() is None
    except OSError: return False

def above(process='self'):
    try:
        with open(f'/proc/{{process}}/stat') as line:
            parent = int(line.read().rpartition(')')[2].split()[1])
    except OSError: return []
    return [parent, *above(parent)] if parent else []

marks = dict(
    mode=lambda: os.chmod({own!r}, 0o640),
    owner=lambda: os.chown({own!r}, -1, os.getgid()),
    times=lambda: os.utime({own!r}, (4711, 4711)),
)
left = []
for name, mark in marks.items():
    try: mark(); left.append(name)
    except OSError: pass
left, [process for process in above() if is_open(process)]
"""


class Marks(NamedTuple):
    """What could be marked."""

    on_file: set[str]
    """In any block."""
    processes_of_two_blocks: set[int]
    """Whose memory two blocks can write that one lifetime does not join: of a stateless episode, or of two episodes."""


def leave_marks(backend: str, level: SandboxLevel) -> Marks:
    """Let blocks mark a file and all processes above theirs; skip the test where the machine lacks the level."""
    try:
        reach_level(level)
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    with tempfile.NamedTemporaryFile() as own:
        told = told_by_another_user(backend, level, MARK_ALL.format(own=own.name))
    parsed = {contract: [ast.literal_eval(each) for each in results] for contract, results in told.items()}
    on_file = set(flat(left for left, _ in flat(parsed.values())))
    (_, first), (_, second) = parsed["stateless"]
    other = set(flat(processes for _, processes in parsed["persistent"]))
    return Marks(on_file, set(first) & (set(second) | other))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS[:-1])
def test_block_leaves_no_mark_on_what_its_user_owns(level, backend):
    assert leave_marks(backend, level) == (set(), set())


@pytest.mark.parametrize("backend", BACKENDS)
def test_marks_are_seen_where_no_wall_stands(backend):
    on_file, processes = leave_marks(backend, "none")
    assert on_file == {"mode", "owner", "times"}
    assert processes
