"""Which processes are asked for their memory, and what is estimated of the others, worked out by hand."""

import mmap
import os

import pytest

from carryover.tasks.runtime.process import memory
from carryover.tasks.runtime.process.memory import Holdings, private_bytes, shared_mappings

NOBODY = 2**22 + 1
"""Above the highest process id of Linux."""


@pytest.fixture
def tree(monkeypatch):
    """Processes by id, as ticks and private bytes; the kernel tells proportional bytes and notes who was asked for."""

    class Tree:
        signs: dict[int, tuple[int, int]] = {}  # noqa: RUF012 - each test sets its own
        held: dict[int, int] = {}  # noqa: RUF012
        asked: list[int] = []  # noqa: RUF012

        def look(self, holdings, limit):
            self.asked = []
            return holdings.excess_bytes(1, limit)

    tree = Tree()

    def ask(process):
        tree.asked.append(process)
        return tree.held[process]

    monkeypatch.setattr(memory, "descendants", lambda root: [process for process in tree.signs if process != root])
    monkeypatch.setattr(memory, "_signs", lambda process: memory._Signs("started", *tree.signs[process]))
    monkeypatch.setattr(memory, "_proportional_bytes", ask)
    return tree


def test_processes_that_cannot_exceed_the_limit_are_not_asked(tree):
    tree.signs = {1: (5, 100), 2: (0, 50)}
    assert tree.look(Holdings(), 150) == 0
    assert tree.asked == []


def test_idle_processes_count_as_much_as_those_that_were_asked(tree):
    tree.signs = {1: (5, 1000)} | dict.fromkeys(range(2, 42), (0, 1000))
    tree.held = {1: 100} | dict.fromkeys(range(2, 42), 10)
    holdings = Holdings()
    assert tree.look(holdings, 500) == 0  # 100 of the one that ran, 10 of each idle one
    assert tree.asked[0] == 1
    assert len(tree.asked) == 33
    assert tree.look(Holdings(), 499) == 500
    assert sorted(set(tree.asked)) == list(range(1, 42))


def test_who_has_run_is_asked_again_and_others_in_turn(tree):
    tree.signs = {1: (5, 1000)} | dict.fromkeys(range(2, 42), (0, 1000))
    tree.held = dict.fromkeys(range(1, 42), 10)
    holdings = Holdings()
    tree.look(holdings, 500)
    never = set(range(1, 42)) - set(tree.asked)
    assert len(never) == 8

    tree.signs[7] = (1, 1000)
    tree.signs[8] = (0, 1001)
    tree.look(holdings, 500)
    assert sorted(tree.asked[:2]) == [7, 8]
    assert never <= set(tree.asked)
    assert len(tree.asked) <= 34

    del tree.signs[7]
    tree.look(holdings, 500)
    assert 7 not in tree.asked
    assert 7 not in holdings._known


def test_an_estimate_alone_exceeds_no_limit(tree):
    """The idle one that was asked holds much; the others, which were not, hold nothing."""
    tree.signs = {1: (5, 1000)} | dict.fromkeys(range(2, 42), (0, 1000))
    tree.held = dict.fromkeys(range(1, 42), 10)
    holdings = Holdings()
    tree.look(holdings, 500)
    for process in set(tree.signs) - set(holdings._known):
        tree.held[process] = 0
    assert tree.look(Holdings(), 400) == 0
    assert len(tree.asked) > 41  # an estimate first, and then everybody


@pytest.mark.parametrize(("seconds", "pause"), [(0.0, 0.1), (0.004, 0.1), (0.5, 10.0)])
def test_looking_takes_a_twentieth_of_the_time_at_most(tree, monkeypatch, seconds, pause):
    tree.signs = {1: (0, 1)}
    holdings = Holdings()
    times = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(memory.time, "monotonic", lambda: next(times))
    holdings.excess_bytes(1, 10)
    assert holdings.due == pytest.approx(100.0 + seconds + pause)


def test_a_process_that_has_ended_holds_nothing():
    assert private_bytes(NOBODY) == 0
    assert shared_mappings(NOBODY) == []
    assert memory._signs(NOBODY) == ("", 0, 0)
    assert memory._shared_bytes(NOBODY) == 0
    assert memory._proportional_bytes(NOBODY) == 0


def test_memory_that_forks_share_is_found(monkeypatch):
    before = {start for start, _ in shared_mappings(os.getpid())}
    with mmap.mmap(-1, 3 << 20) as shared:
        shared.write(b"x" * (3 << 20))
        found = [size for start, size in shared_mappings(os.getpid()) if start not in before]
        assert 3 << 20 in found
        monkeypatch.setattr(memory, "_LIBRARIES_BYTES", 0)
        assert memory._shared_bytes(os.getpid()) >= 3 << 20
        signs = memory._signs(os.getpid())
        assert signs.private_bytes >= 3 << 20
        assert signs.ticks > 0
    assert 0 < memory._proportional_bytes(os.getpid()) < 1 << 40
