import os

import pytest

from carryover.tasks.runtime.inside import open_files
from carryover.tasks.runtime.inside.open_files import OpenFiles, has_identity, identity_of


def test_file_of_another_device_with_the_same_inode_stays(tmp_path):
    (tmp_path / "kept").write_bytes(b"kept")
    (tmp_path / "moved").write_bytes(b"moved")
    with (tmp_path / "kept").open("rb") as opened:
        files = OpenFiles()
        files.note([opened.fileno()])
        device, inode = identity_of(os.fstat(opened.fileno()))
        assert files.put_back({(device + 1, inode): str(tmp_path / "moved")}) == {}
        assert opened.read() == b"kept"


def test_number_that_leads_to_another_file_by_now_is_left_alone(tmp_path):
    former = os.open(tmp_path / "former", os.O_RDWR | os.O_CREAT)
    os.write(former, b"former")
    (tmp_path / "former").unlink()
    files = OpenFiles()
    files.note([former])
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    os.write(other, b"other")
    os.dup2(other, former)
    files.put_back({})
    assert os.pread(other, 10, 0) == b"other"
    os.close(former)
    os.close(other)


@pytest.fixture
def opened(tmp_path):
    """Open a file of a content; all are closed at the end."""
    descriptors = []

    def open_one(name: str, content: bytes, flags: int = os.O_RDWR, *, is_removed: bool = True) -> int:
        path = tmp_path / name
        path.write_bytes(content)
        descriptors.append(os.open(path, flags))
        if is_removed:
            path.unlink()
        return descriptors[-1]

    yield open_one
    for descriptor in descriptors:
        os.close(descriptor)


def identity(descriptor: int) -> tuple[int, int]:
    return identity_of(os.fstat(descriptor))


def test_removed_file_gets_its_content_and_offset_back(opened):
    changed, same = opened("changed", b"before"), opened("same", b"same")
    os.lseek(changed, 3, os.SEEK_SET)
    files = OpenFiles()
    assert files.is_empty()
    assert files.note([changed, same]) == []
    assert not files.is_empty()
    for _ in range(2):
        os.pwrite(changed, b"afterwards", 0)
        os.lseek(changed, 9, os.SEEK_SET)
        assert files.put_back({}) == {identity(changed): changed, identity(same): same}
        assert os.read(changed, 100) == b"ore"
        assert os.pread(changed, 100, 0) == b"before"


def test_only_what_can_be_put_back_is_noted(opened):
    reading, writing = os.pipe()
    event = os.eventfd(0)
    unreadable = opened("unreadable", b"x", os.O_WRONLY)
    read_only = opened("read only", b"x", os.O_RDONLY)
    named = opened("named", b"x", is_removed=False)
    files = OpenFiles()
    assert files.note([reading, event, unreadable, read_only, named]) == [reading, event, unreadable]
    assert files.put_back({}) == {}
    for descriptor in (reading, writing, event):
        os.close(descriptor)


def test_removed_files_are_noted_up_to_a_size(opened, monkeypatch):
    monkeypatch.setattr(open_files, "_SIZE_LIMIT", 10)
    first, second, third = opened("first", b"x" * 6), opened("second", b"x" * 4), opened("third", b"x")
    assert OpenFiles().note([first, second, third]) == [third]


def test_file_that_is_open_twice_is_noted_once(opened):
    first = opened("twice", b"content")
    second = os.dup(first)
    files = OpenFiles()
    assert files.note([first, second]) == []
    os.ftruncate(first, 0)
    assert files.put_back({}) == {identity(first): first}
    assert os.pread(second, 100, 0) == b"content"
    os.close(second)


def test_content_without_a_change_is_not_read_again(opened, monkeypatch):
    read = []
    whole = open_files._read
    monkeypatch.setattr(open_files, "_read", lambda *given: read.append(given[0]) or whole(*given))
    first = opened("kept", b"content")
    files = OpenFiles()
    files.note([first])
    files.note([first])
    assert read == [first]
    files.note([first], is_mapped=True)
    assert read == [first, first]
    second = os.dup(first)
    files.note([second])
    assert files.put_back({}) == {identity(first): second}
    os.pwrite(first, b"changed", 0)
    files.note([second])
    files.put_back({})
    assert os.pread(first, 100, 0) == b"changed"
    os.close(second)


def test_change_through_a_mapping_shows_in_the_content_alone(opened, monkeypatch):
    descriptor = opened("mapped", b"before")
    files = OpenFiles()
    files.note([descriptor])
    os.pwrite(descriptor, b"after!", 0)
    monkeypatch.setattr(open_files, "_sign", lambda _status: files._nameless[identity(descriptor)].sign)
    files.put_back({})
    assert os.pread(descriptor, 100, 0) == b"after!"
    files.put_back({}, is_mapped=True)
    assert os.pread(descriptor, 100, 0) == b"before"


def test_file_that_shrank_since_it_was_listed_is_read_to_its_end(opened):
    descriptor = opened("shorter", b"content")
    assert open_files._read(descriptor, 100) == b"content"
    assert open_files._read(descriptor, 4) == b"cont"


def test_content_beyond_the_memory_is_not_kept(opened, monkeypatch):
    def fail(*_: int) -> bytes:
        raise MemoryError

    monkeypatch.setattr(open_files, "pread", fail)
    descriptor = opened("large", b"content")
    assert OpenFiles().note([descriptor]) == [descriptor]


def test_moved_file_is_opened_anew_as_it_was(opened, tmp_path):
    both = opened("both", b"before", is_removed=False)
    adding = opened("adding", b"before", os.O_WRONLY | os.O_APPEND, is_removed=False)
    os.lseek(both, 2, os.SEEK_SET)
    files = OpenFiles()
    files.note([both, adding])
    former = identity(both), identity(adding)
    for name in ("both", "adding"):
        (tmp_path / f"new {name}").write_bytes(b"content")
    moved = {former[0]: str(tmp_path / "new both"), former[1]: str(tmp_path / "new adding")}
    assert files.put_back(moved) == {former[0]: both}
    assert (os.read(both, 100), os.get_inheritable(both)) == (b"ntent", False)
    os.write(adding, b"!")
    assert (tmp_path / "new adding").read_bytes() == b"content!"
    assert has_identity(both, identity_of((tmp_path / "new both").stat()))
    (tmp_path / "newer").write_bytes(b"newer")
    assert files.put_back({identity(both): str(tmp_path / "newer")}) != {}
    assert os.read(both, 100) == b"wer"


def test_descriptor_that_is_closed_is_left_alone(opened):
    first = os.dup(opened("closed", b"content"))
    files = OpenFiles()
    files.note([first])
    former = identity(first)
    os.close(first)
    assert not has_identity(first, former)
    assert files.put_back({former: "/nowhere"}) == {}
    files.note([])
    assert files.is_empty()
