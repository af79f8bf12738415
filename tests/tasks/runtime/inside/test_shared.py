"""What forks share, without forks: memory, pipes and descriptors."""

import mmap
import os
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.inside import shared
from carryover.tasks.runtime.inside.shared import Shared, _opened, _poll_of, _Tracked


def test_a_pipe_that_its_writer_left_is_open():
    first, second = os.pipe()
    poll = _poll_of(first, first + 1)
    os.close(second)
    assert _opened(poll, first, first + 1) == {first}
    os.close(first)
    assert _opened(poll, first, first + 1) == set()


@pytest.fixture
def tracked(monkeypatch) -> list[Any]:
    """The mappings of a test."""
    found: list[Any] = []
    monkeypatch.setattr(shared, "_tracked", found)
    return found


def file_of(content: bytes) -> int:
    descriptor = os.memfd_create("mapped")
    os.write(descriptor, content)
    return descriptor


SIZE = mmap.PAGESIZE
SHARED = [
    ((-1, SIZE), {}, True),
    ((-1, SIZE, mmap.MAP_SHARED), {}, True),
    ((-1, SIZE, mmap.MAP_PRIVATE), {}, False),
    ((-1, SIZE), {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}, False),
    ((-1, SIZE, mmap.MAP_SHARED, mmap.PROT_READ), {}, False),
    ((-1, SIZE), {"prot": mmap.PROT_READ}, False),
    ((-1, SIZE), {"access": mmap.ACCESS_WRITE}, True),
    ((-1, SIZE), {"access": mmap.ACCESS_COPY}, False),
    ((-1, SIZE), {"access": mmap.ACCESS_READ}, False),
]


@pytest.mark.parametrize(("settings", "named", "is_shared"), SHARED, ids=str)
def test_only_memory_that_forks_share_is_tracked(tracked, settings, named, is_shared):
    made = _Tracked(*settings, **named)
    assert [one() for one in tracked] == [made] * is_shared
    assert Shared().has_mappings() is is_shared
    del made
    assert tracked == []


@pytest.mark.parametrize("offset", [0, SIZE])
@pytest.mark.usefixtures("tracked")
def test_mapping_knows_its_file_and_place(offset):
    descriptor = file_of(bytes(2 * SIZE))
    for made in (
        _Tracked(descriptor, SIZE, offset=offset),
        _Tracked(descriptor, SIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, mmap.ACCESS_DEFAULT, offset),
    ):
        status = os.fstat(descriptor)
        assert (made.file, made.offset) == ((status.st_dev, status.st_ino), offset)
    assert _Tracked(-1, SIZE).file is None
    assert (_Tracked.__name__, _Tracked.__qualname__, _Tracked.__module__) == ("mmap", "mmap", "mmap")
    os.close(descriptor)


@pytest.mark.usefixtures("tracked")
def test_memory_goes_on_with_the_content_of_its_note():
    kept = _Tracked(-1, SIZE)
    closed = _Tracked(-1, SIZE)
    kept[:3] = b"old"
    noted = Shared()
    noted.note(frozenset(noted._open()))
    view = memoryview(kept)
    kept[:3] = b"new"
    closed.close()
    held = noted.resume(frozenset())["held"]
    assert [size for _, size in held] == [SIZE]
    assert bytes(view[:3]) == b"old"
    view.release()


@pytest.mark.usefixtures("tracked")
def test_mapping_of_a_folder_s_file_follows_the_file():
    former, new = file_of(b"old".ljust(SIZE)), file_of(b"new".ljust(SIZE))
    mapping = _Tracked(former, SIZE)
    noted = Shared()
    noted.note(frozenset(noted._open()))
    mapping[:3] = b"xxx"
    noted.resume(frozenset([os.fstat(former).st_ino]))
    assert mapping[:3] == b"xxx"
    identity = mapping.file
    noted.files = SimpleNamespace(put_back=lambda moved, is_mapped: {identity: new})  # type: ignore[assignment]
    noted.put_back({})
    status = os.fstat(new)
    assert (mapping[:3], mapping.file) == (b"new", (status.st_dev, status.st_ino))
    for descriptor in (former, new):
        os.close(descriptor)


@pytest.mark.usefixtures("tracked")
def test_large_memory_is_not_noted(monkeypatch):
    monkeypatch.setattr(shared, "_SIZE_LIMIT", SIZE)
    mappings = [_Tracked(-1, SIZE), _Tracked(-1, SIZE)]
    assert [one() for one, _ in shared._contents()] == mappings[:1]


@pytest.mark.usefixtures("tracked")
def test_pipes_are_told_and_which_may_have_changed():
    same, same_end = os.pipe()
    changed, changed_end = os.pipe()
    closed, closed_end = os.pipe()
    ready = os.eventfd(1)
    silent = os.eventfd(0)
    noted = Shared()
    mine = {same, changed, closed, ready, silent}
    noted.note(frozenset(noted._open() - mine))
    os.write(changed_end, b"x")
    os.close(closed)
    told = noted.resume(frozenset())
    assert sorted(told["pipes"]) == sorted(mine - {closed})
    assert sorted(told["changed"]) == sorted([changed, ready])
    assert told["held"] == []
    for descriptor in (same, same_end, changed, changed_end, closed_end, ready, silent):
        os.close(descriptor)


def test_fill_is_what_waits_or_when_a_file_changed(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"abc")
    first, second = socket.socketpair()
    second.send(b"ab")
    assert (shared._fill(reading), shared._fill(first.fileno()), shared._fill(second.fileno())) == (3, 2, 0)
    descriptor = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    assert shared._fill(descriptor) == os.fstat(descriptor).st_mtime_ns
    for one in (reading, writing, descriptor):
        os.close(one)
    first.close()
    second.close()


def test_open_descriptors_are_found_near_and_far(tmp_path):
    noted = Shared()
    opened = [os.open(tmp_path, os.O_RDONLY) for _ in range(20)]
    assert set(opened) <= noted._open()
    for descriptor in opened:
        os.close(descriptor)
    assert noted._open().isdisjoint(opened)
