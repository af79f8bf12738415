import errno
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from carryover.storage.errors import LandingError, UnreachableZoneError
from carryover.storage.zone.files import FileStore


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path) -> FileStore:
    return FileStore(tmp_path / "store" if request.param == "folder" else f"memory://{tmp_path.name}")


def test_written_file_is_found_with_size_and_age_and_read(store):
    store.write("a/b.txt", b"four")
    (found,) = store.find()
    assert (found.path, found.byte_count) == ("a/b.txt", 4)
    assert found.modified_at is not None
    assert abs(datetime.now(UTC) - found.modified_at) < timedelta(minutes=1)
    assert store.read("a/b.txt") == b"four"
    assert store.read_many(["a/b.txt", "gone.txt"]) == {"a/b.txt": b"four"}


def test_a_folder_that_is_not_there_holds_nothing(store):
    assert store.find() == []
    assert store.find("bundles") == []
    assert store.read_many([]) == {}


@pytest.mark.parametrize("name", ["zone[1]", "zone*", "zone?"])
def test_wildcards_are_refused_where_fsspec_expands_them(name, tmp_path):
    assert FileStore(tmp_path / name).root == f"{tmp_path}/{name}"
    with pytest.raises(LandingError, match=r"^cannot open memory://zone.*: wildcards in the name; choose one without"):
        FileStore(f"memory://{name}")


def test_local_folder_has_one_url_for_every_spelling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spellings = ("zone", "./zone", "zone/", "other/../zone", Path("zone"), tmp_path / "zone", f"file://{tmp_path}/zone")
    assert {FileStore(spelling).url for spelling in spellings} == {str(tmp_path / "zone")}
    assert FileStore("memory://zone/").url == "memory://zone"


def test_file_moves_with_its_folder_and_absent_one_stays_absent(store):
    store.write("a/b.txt", b"four")
    store.move("a/b.txt", "quarantine/a/b.txt")
    store.move("a/b.txt", "quarantine/a/b.txt")
    assert [file.path for file in store.find()] == ["quarantine/a/b.txt"]
    store.remove("quarantine/a/b.txt")
    store.remove("quarantine/a/b.txt")
    assert store.find() == []


def test_a_second_write_replaces_the_first_whole(store):
    store.write("a.txt", b"first, and longer")
    store.write("a.txt", b"second")
    assert store.read("a.txt") == b"second"


def test_local_file_is_durable_before_its_name_and_return(tmp_path, disk_calls):
    FileStore(tmp_path).write("a.txt", b"four")
    assert disk_calls == [("fsync", "temporary"), ("replace", "a.txt"), ("fsync", tmp_path.name)]


def test_a_local_write_leaves_no_temporary_file(tmp_path):
    FileStore(tmp_path).write("a/b.txt", b"four")
    assert [path.name for path in Path(tmp_path / "a").iterdir()] == ["b.txt"]


def test_a_file_is_uploaded_and_downloaded_whole(store, tmp_path):
    (tmp_path / "here").write_bytes(b"four")
    store.upload(tmp_path / "here", "new/folder/there")
    assert store.has("new/folder/there")
    store.download("new/folder/there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"four"
    assert [file.path for file in store.find()] == ["new/folder/there"]
    store.remove("new/folder/there")
    assert not store.has("new/folder/there")
    told = r"^cannot read .*/new/folder/there: no such file; refresh the stage that made it$"
    with pytest.raises(LandingError, match=told) as failed:
        store.download("new/folder/there", tmp_path / "again")
    assert type(failed.value) is LandingError


def test_a_download_tells_a_full_disk_from_an_unreachable_store(store, tmp_path, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(store.filesystem, "get_file", fail)
    error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(LandingError) as failed:
        store.download("a", tmp_path / "b")
    assert type(failed.value) is LandingError
    assert str(failed.value) == f"cannot write {tmp_path}/b: No space left on device; free space there"
    error = ConnectionError("reset")
    with pytest.raises(LandingError, match=r"^cannot read .*/a: reset; see that it can be reached"):
        store.download("a", tmp_path / "b")


def test_files_are_listed_in_order_below_a_folder(store):
    for path in ("b/2", "a/1", "b/1"):
        store.write(path, b"x")
    assert [file.path for file in store.find()] == ["a/1", "b/1", "b/2"]
    assert [file.path for file in store.find("b")] == ["b/1", "b/2"]


def test_places_are_told_as_other_libraries_take_them(tmp_path):
    local = FileStore(tmp_path / "zone")
    assert local.location("a/b") == local.absolute("a/b") == f"{tmp_path}/zone/a/b"
    memory = FileStore("memory://zone/")
    assert (memory.location("a/b"), memory.absolute("a/b")) == ("memory:///zone/a/b", "/zone/a/b")
    for store in (local, memory):
        assert store.relative(store.absolute("a/b")) == "a/b"
        assert store.relative("elsewhere/b") == "elsewhere/b"


@pytest.mark.parametrize(
    "info",
    [
        {"LastModified": datetime(2026, 1, 1, tzinfo=UTC), "mtime": 0.0},
        {"mtime": 1767225600.0, "created": 0.0},
        {"modified": datetime(2026, 1, 1), "created": datetime(2020, 1, 1)},
        {"created": 1767225600},
    ],
)
def test_filesystems_tell_a_files_age_in_several_ways(monkeypatch, info):
    store = FileStore("memory://store")
    listed = {"/store/a": {"size": None, **info}, "/store/b": {"size": 4, "created": "yesterday"}}
    monkeypatch.setattr(store.filesystem, "find", lambda *_, **__: listed)
    assert store.find() == [("a", 0, datetime(2026, 1, 1, tzinfo=UTC)), ("b", 4, None)]


def test_refusals_on_a_disk_tell_what_to_do_there(tmp_path):
    (tmp_path / "file").touch()
    store = FileStore(tmp_path / "file")
    with pytest.raises(LandingError) as told:
        store.write("a/b", b"four")
    assert type(told.value) is LandingError
    assert str(told.value) == (
        f"cannot write {tmp_path}/file/a/b: Not a directory; make it writable or land somewhere else"
    )
    with pytest.raises(LandingError) as told:
        store.read("a/b")
    assert type(told.value) is LandingError
    assert str(told.value) == (
        f"cannot read {tmp_path}/file/a/b: Not a directory; see that it can be reached, and with which credentials"
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionError("reset"), UnreachableZoneError),
        (PermissionError("denied"), LandingError),
        (FileNotFoundError("no bucket"), LandingError),
    ],
)
def test_unreachable_store_is_told_from_a_refusing_one(error, kind, monkeypatch):
    store = FileStore("memory://store")

    def fail(*_):
        raise error

    monkeypatch.setattr(store.filesystem, "pipe_file", fail)
    with pytest.raises(LandingError, match=str(error)) as told:
        store.write("a.txt", b"four")
    assert type(told.value) is kind
