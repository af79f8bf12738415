import errno
import os
from contextlib import ExitStack
from pathlib import Path
from socket import gethostname

import pytest

from carryover.tasks.services import whole_files
from carryover.tasks.services.whole_files import (
    TEMPORARY_SUFFIX,
    digest_of_file,
    file_lock,
    file_lock_when_free,
    folder_filled_whole,
    folder_written_whole,
    write_whole,
    written_whole,
)


def test_a_file_is_replaced_whole_and_missing_folders_are_made(tmp_path):
    path = tmp_path / "new" / "a.txt"
    write_whole(path, "first, and longer")
    write_whole(path, b"second")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"second"]


def test_a_write_that_raises_leaves_nothing(tmp_path):
    def write_a_part() -> None:
        with written_whole(tmp_path / "a") as temporary:
            temporary.write_text("part")
            raise ValueError("in between")

    with pytest.raises(ValueError, match="in between"):
        write_a_part()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_told_by_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as missing, written_whole(tmp_path / "nowhere" / "a"):
        raise AssertionError("nothing is written")
    assert missing.value.filename == str(tmp_path / "nowhere")


def fill(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / content).touch()


def test_a_folder_appears_with_all_that_is_in_it(tmp_path):
    with folder_written_whole(tmp_path / "model") as temporary:
        fill(temporary, "card.json")
        assert not (tmp_path / "model").exists()
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["card.json"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_raises_leaves_nothing(tmp_path):
    def write_a_part() -> None:
        with folder_written_whole(tmp_path / "model") as temporary:
            fill(temporary, "part")
            raise ValueError("in between")

    with pytest.raises(ValueError, match="in between"):
        write_a_part()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("replaces", "kept"), [(False, "other"), (True, "own")])
def test_of_two_makers_of_a_folder_one_stays(tmp_path, replaces, kept):
    folder = tmp_path / "model"
    with folder_written_whole(folder, replaces=replaces) as temporary:
        fill(temporary, "own")
        with folder_written_whole(folder) as others:
            fill(others, "other")
    assert [file.name for file in folder.iterdir()] == [kept]
    assert list(tmp_path.iterdir()) == [folder]


def replace(folder, name):
    with folder_written_whole(folder, replaces=True) as temporary:
        fill(temporary, name)


def test_folder_is_replaced_where_no_two_can_be_exchanged(tmp_path, monkeypatch):
    """The kernel answers an unknown flag as NFS does an exchange."""
    monkeypatch.setattr(whole_files, "_RENAME_EXCHANGE", 1 << 20)
    for name in ("first", "second"):
        replace(tmp_path / "model", name)
    assert [file.name for file in tmp_path.rglob("*")] == ["model", "second"]


def test_quicker_process_keeps_its_folder_where_none_can_be_exchanged(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    fill(folder, "first")
    rename = Path.rename

    def let_another_in(path: Path, target: Path) -> Path:
        renamed = rename(path, target)
        if path == folder:
            fill(folder, "other")
        return renamed

    monkeypatch.setattr(whole_files, "_RENAME_EXCHANGE", 1 << 20)
    monkeypatch.setattr(Path, "rename", let_another_in)
    with pytest.raises(OSError, match="not empty"):
        replace(folder, "own")
    assert [file.name for file in tmp_path.rglob("*")] == ["model", "other"]


def test_folder_that_cannot_be_replaced_stays_where_none_can_be_exchanged(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    fill(folder, "first")
    rename = Path.rename

    def fail_to_replace(path: Path, target: Path) -> Path:
        if target == folder and not folder.exists() and path.name.count(TEMPORARY_SUFFIX) == 1:
            raise OSError(errno.EIO, "the disk is gone", str(target))
        return rename(path, target)

    monkeypatch.setattr(whole_files, "_RENAME_EXCHANGE", 1 << 20)
    monkeypatch.setattr(Path, "rename", fail_to_replace)
    with pytest.raises(OSError, match="the disk is gone"):
        replace(folder, "second")
    assert [file.name for file in tmp_path.rglob("*")] == ["model", "first"]


def test_by_default_the_first_folder_stays(tmp_path):
    for name in ("first", "second"):
        with folder_written_whole(tmp_path / "model") as temporary:
            fill(temporary, name)
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["first"]


def test_a_file_and_the_names_of_its_folders_are_durable_before_it_counts(tmp_path, monkeypatch):
    synced = []
    sizes = []

    def note(number: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{number}").readlink()))
        sizes.append(os.fstat(number).st_size)

    monkeypatch.setattr(os, "fsync", note)
    write_whole(tmp_path / "new" / "folder" / "a.txt", "content")
    *folders, file, folder = synced
    assert sizes[-2] == len("content")
    assert folders == [str(tmp_path), str(tmp_path / "new")]
    assert file.startswith(str(tmp_path / "new" / "folder" / ".a.txt."))
    assert folder == str(tmp_path / "new" / "folder")
    assert not [link for link in Path("/proc/self/fd").iterdir() if os.path.realpath(link) == folder]


def test_a_folder_that_another_writer_makes_meanwhile_is_taken(tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(Path, "exists", lambda path: path == tmp_path)
    write_whole(tmp_path / "new" / "a.txt", "content")
    monkeypatch.undo()
    assert (tmp_path / "new" / "a.txt").read_text() == "content"


def test_an_exchange_that_fails_names_the_folder(tmp_path, monkeypatch):
    def refuse(_: Path, target: Path) -> None:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(target))

    def write() -> None:
        with folder_written_whole(tmp_path / "model", replaces=True) as temporary:
            fill(temporary, "own")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(FileNotFoundError) as caught:
        write()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "model"))


@pytest.mark.parametrize("number", [errno.ENOTEMPTY, errno.EEXIST])
def test_filesystems_name_a_folder_in_the_way_either_way(tmp_path, monkeypatch, number):
    def refuse(_: Path, target: Path) -> None:
        raise OSError(number, os.strerror(number), str(target))

    fill(tmp_path / "model", "first")
    monkeypatch.setattr(Path, "rename", refuse)
    with folder_written_whole(tmp_path / "model") as temporary:
        fill(temporary, "second")
    assert [file.name for file in tmp_path.rglob("*")] == ["model", "first"]


def test_a_folder_that_cannot_be_moved_raises(tmp_path):
    (tmp_path / "model").touch()

    def write() -> None:
        with folder_written_whole(tmp_path / "model") as temporary:
            fill(temporary, "own")

    with pytest.raises(NotADirectoryError):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_digest_is_that_of_the_bytes(tmp_path):
    (tmp_path / "empty").touch()
    assert digest_of_file(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_lock_is_waited_for_and_its_holder_named(tmp_path):
    told = []
    with ExitStack() as held:
        held.enter_context(file_lock(tmp_path / "lock"))

        def look(holder: str) -> None:
            told.append(holder)
            held.close()

        with file_lock_when_free(tmp_path / "lock", look):
            assert [holder.partition(" since ")[0] for holder in told] == [f"process {os.getpid()} on {gethostname()}"]
            with file_lock(tmp_path / "lock") as holder:
                assert holder is not None


def test_a_wait_for_a_lock_ends_where_the_check_raises(tmp_path):
    def refuse(_: str) -> None:
        raise ValueError("interrupted")

    with (
        file_lock(tmp_path / "lock"),
        pytest.raises(ValueError, match="interrupted"),
        file_lock_when_free(tmp_path / "lock", refuse),
    ):
        pass


def test_files_of_a_folder_appear_once_all_are_written(tmp_path):
    folder = tmp_path / "export"
    (folder / "a").mkdir(parents=True)
    (folder / "kept").touch()
    with folder_filled_whole(folder) as temporary:
        assert temporary.parent == folder  # where files can move to it, whatever is mounted there
        (temporary / "a").mkdir()
        (temporary / "a" / "new").touch()
        (temporary / "b" / "c").mkdir(parents=True)
        (temporary / "b" / "c" / "new").touch()
        assert not (folder / "a" / "new").exists()
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["a", "a/new", "b", "b/c", "b/c/new", "kept"]
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_cannot_be_filled_stays_as_it_was(tmp_path, is_there):
    folder = tmp_path / "export"
    if is_there:
        fill(folder, "kept")

    def write_a_part() -> None:
        with folder_filled_whole(folder) as temporary:
            (temporary / "part").touch()
            raise ValueError("in between")

    with pytest.raises(ValueError, match="in between"):
        write_a_part()
    assert [path.name for path in tmp_path.rglob("*")] == (["export", "kept"] if is_there else [])
