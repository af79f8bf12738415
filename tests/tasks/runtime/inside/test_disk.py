"""A folder on disk, by the functions of the sandbox's side."""

import os
import stat
from pathlib import Path

import pytest

from carryover.tasks.runtime.inside import disk


@pytest.fixture
def folder(tmp_path):
    """Two levels of directories, a file, a link and a pipe."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep").write_text("deep")
    (tmp_path / "file").write_text("file")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_signs_tell_kind_and_change(folder):
    signs = disk.signs_in(str(folder))
    kinds = {name: kind for name, (kind, _) in signs.items()}
    assert kinds == {
        "a": stat.S_IFDIR, "a/b": stat.S_IFDIR, "a/b/deep": stat.S_IFREG, "file": stat.S_IFREG, "link": stat.S_IFLNK,
        "pipe": stat.S_IFIFO,
    }  # fmt: skip
    assert [*signs].index("a") < [*signs].index("a/b") < [*signs].index("a/b/deep")
    status = (folder / "file").lstat()
    assert signs["file"][1] == (
        status.st_ino, 4, status.st_mtime_ns, status.st_ctime_ns, status.st_mode,
    )  # fmt: skip
    (folder / "a" / "more").write_text("x")
    assert disk.signs_in(str(folder))["a"] == signs["a"] == (stat.S_IFDIR, (0, 0, (folder / "a").stat().st_mode))


def test_everything_is_removed_at_any_depth(folder):
    deepest = folder
    for _ in range(30):
        deepest = deepest / ("x" * 200)
        try:
            deepest.mkdir()
        except OSError:
            break
    disk.empty(str(folder))
    assert list(folder.iterdir()) == []


def test_no_descriptor_stays_open(folder):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    disk.write_file(str(folder / "new"), b"x", 0o640)
    assert disk.read_file(str(folder / "new")) == b"x"
    with pytest.raises(IsADirectoryError):
        disk.read_file(str(folder / "a"))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_files_are_read_and_written_without_following_links(folder):
    disk.write_file(str(folder / "new"), b"x" * 3_000_000, 0o640)
    assert disk.read_file(str(folder / "new")) == b"x" * 3_000_000
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640
    disk.write_file(str(folder / "new"), b"", 0o600)
    assert disk.read_file(str(folder / "new")) == b""
    (folder / "to_file").symlink_to("file")
    with pytest.raises(OSError, match="symbolic links"):
        disk.read_file(str(folder / "to_file"))
    with pytest.raises(OSError, match="symbolic links"):
        disk.write_file(str(folder / "to_file"), b"", 0o600)
    assert (folder / "file").read_text() == "file"


def test_a_directory_must_be_empty_to_be_removed(folder):
    with pytest.raises(OSError, match="not empty"):
        disk.remove(str(folder / "a"), stat.S_IFDIR)
    disk.remove(str(folder / "link"), stat.S_IFLNK)
    disk.remove(str(folder / "file"), stat.S_IFREG)
    assert sorted(disk.names_in(str(folder))) == ["a", "pipe"]
    disk.unlink_if_there(str(folder / "pipe"))
    disk.unlink_if_there(str(folder / "pipe"))
    assert disk.names_in(str(folder)) == ["a"]


def test_a_removed_working_directory_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()
    disk.go_to(str(tmp_path / "gone"), str(tmp_path))
    assert disk.working_directory() == str(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert disk.working_directory() is None
    for wanted in (None, str(tmp_path / "gone")):
        disk.go_to(wanted, str(tmp_path))
        assert Path.cwd() == tmp_path
