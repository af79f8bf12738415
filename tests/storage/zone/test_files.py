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
