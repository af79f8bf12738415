"""Memory of processes as their numbers tell it, without processes."""

import os
from typing import Any

import pytest

from carryover.tasks.runtime.process import memory
from carryover.tasks.runtime.process.memory import Holdings, _Signs


@pytest.fixture
def episode(monkeypatch):
    """An episode of made-up processes: signs and proportional bytes by number."""
    signs: dict[int, _Signs] = {}
    held: dict[int, int] = {}
    asked: list[int] = []

    def ask(process: int) -> int:
        asked.append(process)
        return held[process]

    monkeypatch.setattr(memory, "descendants", lambda root: [process for process in signs if process != root])
    monkeypatch.setattr(memory, "_signs", lambda process: signs[process])
    monkeypatch.setattr(memory, "_proportional_bytes", ask)

    def put(process: int, bytes_held: int, *, ticks: int = 0, private: int | None = None, started: str = "0") -> None:
        signs[process] = _Signs(started, ticks, bytes_held if private is None else private)
        held[process] = bytes_held

    return put, asked


def test_few_bytes_are_not_asked_for(episode):
    put, asked = episode
    put(1, 60, private=60)
    put(2, 40, private=40)
    assert Holdings().excess_bytes(1, 100) == 0
    assert asked == []
    assert Holdings().excess_bytes(1, 99) == 100
    assert asked == [1, 2, 1, 2]


def test_who_ran_is_asked_again(episode):
    put, asked = episode
    holdings = Holdings()
    put(1, 10, ticks=1, private=1000)
    for process in range(2, 50):
        put(process, 1)
    assert holdings.excess_bytes(1, 500) == 0
    assert sorted(asked) == [1, *range(2, 34)]
    del asked[:]
    put(1, 10, ticks=2, private=1000)
    put(40, 1, ticks=1)
    assert holdings.excess_bytes(1, 500) == 0
    assert {1, 40} <= set(asked)
    assert len(asked) == 34
    assert set(range(34, 50)) <= set(asked)


def test_unasked_forks_count_as_much_as_others_on_average(episode):
    put, asked = episode
    put(1, 0, ticks=1, private=1000)
    for process in range(2, 66):
        put(process, 3)
    assert Holdings().excess_bytes(1, 192) == 0
    assert len(asked) == 33
    del asked[:]
    assert Holdings().excess_bytes(1, 191) == 192
    assert len(asked) == 33 + 65


def test_ended_processes_are_forgotten(episode, monkeypatch):
    put, _ = episode
    holdings = Holdings()
    put(1, 5, private=1000)
    put(2, 7)
    assert holdings.excess_bytes(1, 11) == 12
    monkeypatch.setattr(memory, "descendants", lambda root: [])
    assert holdings.excess_bytes(1, 11) == 0
    assert list(holdings._known) == [1]


def test_next_look_is_due_later_the_longer_one_takes(episode, monkeypatch):
    put, _ = episode
    put(1, 5)
    moments = iter([10.0, 20.0, 20.001, 30.0, 31.0])
    monkeypatch.setattr(memory.time, "monotonic", lambda: next(moments))
    holdings = Holdings()
    assert holdings.due == 10.1
    holdings.excess_bytes(1, 100)
    assert holdings.due == pytest.approx(20.101)
    holdings.excess_bytes(1, 100)
    assert holdings.due == pytest.approx(51.0)


FILES = {
    "stat": "7 (a) b) S " + " ".join(map(str, range(4, 53))),
    "statm": "900 500 200 1 2 3 4",
    "status": "VmRSS: 5 kB\nRssShmem:\t   300 kB\n",
    "smaps_rollup": "head\nRss: 90 kB\nPss:  40 kB\n",
    "maps": (
        "10-30 rw-s 00000000 00:01 5 /dev/zero (deleted)\n"
        "40-50 rw-p 00000000 00:00 0 \n"
        "50-60 r--s 00000000 00:01 5 /a b\n"
        "a0-b8 rw-s 00000000 00:01 5\n"
    ),
}
PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def numbers(monkeypatch, tmp_path):
    """A process whose numbers lie in files of the test's."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def opened(path: str, *settings: Any, **named: Any) -> Any:
        return open(path.replace("/proc/7", str(tmp_path)), *settings, **named)  # noqa: PTH123

    monkeypatch.setattr(memory, "open", opened, raising=False)
    monkeypatch.setattr(memory, "Path", lambda path: type(tmp_path)(path.replace("/proc/7", str(tmp_path))))
    return tmp_path


def test_numbers_of_a_process_are_read(numbers, monkeypatch):
    assert memory.private_bytes(7) == 300 * PAGE
    assert memory._proportional_bytes(7) == 40 * 1024
    assert memory._shared_bytes(7) == 0
    assert memory._signs(7) == ("22", 14 + 15, 300 * PAGE)
    assert memory.shared_mappings(7) == [(0x10, 0x20), (0xA0, 0x18)]
    monkeypatch.setattr(memory, "_LIBRARIES_BYTES", 200 * PAGE)
    assert memory._shared_bytes(7) == 300 * 1024
    assert memory._signs(7).private_bytes == 300 * PAGE + 300 * 1024
    monkeypatch.setattr(memory, "_LIBRARIES_BYTES", 200 * PAGE + 1)
    assert memory._shared_bytes(7) == 0
    (numbers / "smaps_rollup").unlink()
    assert memory._proportional_bytes(7) == 300 * PAGE
    for name in FILES:
        (numbers / name).unlink(missing_ok=True)
    found = [read(7) for read in (memory.private_bytes, memory._proportional_bytes, memory._shared_bytes)]
    assert (found, memory._signs(7), memory.shared_mappings(7)) == ([0, 0, 0], ("", 0, 0), [])


def test_numbers_without_a_line_are_none(numbers, monkeypatch):
    monkeypatch.setattr(memory, "_LIBRARIES_BYTES", 0)
    for name in ("status", "smaps_rollup"):
        (numbers / name).write_text("")
    assert (memory._shared_bytes(7), memory._proportional_bytes(7)) == (0, 0)
