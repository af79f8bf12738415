"""The scratch folder and its image in memory, in this process: what is noted, put back and forgotten."""

import os
import stat
import sys
from pathlib import Path

import pytest

from carryover.tasks.runtime.inside import folder as folder_module
from carryover.tasks.runtime.inside.folder import Folder, FolderError


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder; this process's own working directory and environment come back."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "TMPDIR", "USER"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    place = tmp_path / "scratch"
    place.mkdir()
    return place


@pytest.fixture
def opened(place):
    """A folder that keeps its files."""
    folder = Folder()
    folder.open(str(place), 1000, keeps=True)
    return folder


def listed(place):
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def fill(place):
    """Write something of every kind."""
    (place / "a").mkdir(mode=0o750)
    (place / "a" / "deep").write_text("deep")
    (place / "file").write_text("file")
    (place / "file").chmod(0o640)
    (place / "link").symlink_to("nowhere")
    os.mkfifo(place / "pipe")


def test_a_folder_is_home_and_working_directory(opened, place):
    assert Path.cwd() == place
    assert (os.environ["HOME"], os.environ["TMPDIR"], os.environ["USER"]) == (str(place), str(place), "agent")
    (place / "left").write_text("")
    with pytest.raises(FolderError, match=r"scratch is not empty, it holds 'left': not a new scratch folder$"):
        Folder().open(str(place), 1000, keeps=True)


def test_only_a_folder_that_is_there_is_importable(opened, monkeypatch):
    monkeypatch.setattr(sys, "path", ["lib"])
    Folder().make_importable()
    assert sys.path == ["lib"]
    opened.make_importable()
    assert sys.path == ["", "lib"]


def test_what_changed_since_the_note_is_undone(opened, place):
    fill(place)
    assert opened.end_block("word-1", is_mapped=False) is None
    before = listed(place)
    (place / "file").write_text("changed")
    (place / "a" / "deep").unlink()
    (place / "a").rmdir()
    (place / "a").write_text("no directory")
    (place / "link").unlink()
    (place / "link").symlink_to("elsewhere")
    (place / "pipe").unlink()
    (place / "new" / "more").mkdir(parents=True)
    (place / "new" / "more" / "x").write_text("x")

    opened.restore()
    assert listed(place) == before
    assert ((place / "file").read_text(), (place / "a" / "deep").read_text()) == ("file", "deep")
    assert stat.S_IMODE((place / "file").stat().st_mode) == 0o640
    assert (place / "link").readlink() == Path("nowhere")
    assert stat.S_ISFIFO((place / "pipe").stat().st_mode)
    assert opened.canary() == "word-1"
    assert opened.restore() == {}


def test_files_made_anew_are_told_by_former_identity(opened, place):
    (place / "file").write_text("file")
    (place / "same").write_text("same")
    opened.end_block("w", is_mapped=False)
    former = (place / "file").stat()
    assert opened.inodes() == {former.st_ino, (place / "same").stat().st_ino}
    (place / "other").write_text("other")
    (place / "other").rename(place / "file")
    assert opened.restore() == {(former.st_dev, former.st_ino): f"{place}/file"}
    assert (place / "file").read_text() == "file"
    assert opened.inodes() == {(place / "file").stat().st_ino, (place / "same").stat().st_ino}


def test_a_mapped_file_may_have_changed_without_a_sign(opened, place, monkeypatch):
    (place / "file").write_text("file")
    opened.end_block("w", is_mapped=False)
    (place / "file").write_text("FILE")
    monkeypatch.setattr(folder_module, "sign_of", lambda status: opened._image["file"].sign)
    monkeypatch.setattr(folder_module, "signs_in", lambda path: {"file": (stat.S_IFREG, opened._image["file"].sign)})
    opened.restore()
    assert (place / "file").read_text() == "FILE"
    opened.restore(is_mapped=True)
    assert (place / "file").read_text() == "file"
    (place / "file").write_text("FILE")
    opened.end_block("w", is_mapped=False)
    assert opened._image["file"].content == b"file"
    opened._image["file"] = opened._image["file"]._replace(content=b"old")
    sign = opened._image["file"].sign
    monkeypatch.setattr(folder_module, "signs_in", lambda path: {"file": (stat.S_IFREG, sign)})
    opened.end_block("w", is_mapped=True)
    assert opened._image["file"].content == b"FILE"


def test_the_word_of_a_block_is_hidden_from_the_next(opened, place):
    assert opened.canary() is None
    opened.end_block("word-1", is_mapped=False)
    assert opened.canary() == "word-1"
    opened.begin_block()
    assert listed(place) == []
    opened.begin_block()
    (place / ".canary").write_text("a block's own")
    opened.end_block("word-2", is_mapped=False)
    assert opened.canary() == "word-2"
    (place / ".canary").unlink()
    (place / ".canary").mkdir()
    opened.begin_block()
    assert opened.canary() is None


@pytest.mark.parametrize("kind", ["size", "count"])
def test_a_folder_that_holds_too_much_is_a_problem(opened, place, monkeypatch, kind):
    monkeypatch.setattr(folder_module, "FILE_COUNT_LIMIT", 2)
    sizes = {"size": (1000, 1001), "count": (1, 1)}[kind]
    (place / "a").write_bytes(b"x" * sizes[0])
    assert opened.end_block("w", is_mapped=False) is None
    (place / "a").write_bytes(b"x" * sizes[1])
    if kind == "count":
        for name in "bcd":
            (place / name).write_text("x")
    assert opened.end_block("w", is_mapped=False) == "folder"


def test_a_folder_that_forgets_keeps_what_the_host_put_there(place):
    folder = Folder()
    folder.open(str(place), 1000, keeps=False)
    folder.place("given/data", b"data")
    fill(place)
    folder.note()
    folder.restore()
    assert listed(place) == ["given", "given/data"]
    assert (place / "given" / "data").read_bytes() == b"data"
    assert (place / "given" / "data").stat().st_mode & 0o777 == 0o644
    assert folder.end_block("word", is_mapped=False) is None
    assert folder.inodes() == frozenset()
    assert folder.canary() == "word"


def test_a_folder_that_keeps_is_not_emptied(opened, place):
    (place / "file").write_text("file")
    opened.forget()
    assert listed(place) == ["file"]


def test_files_are_put_and_read_within_the_folder(opened, place):
    opened.place("a/b", b"one")
    opened.place("a/c", b"two")
    assert (opened.get("a/b"), opened.sizes()) == (b"one", {"a/b": 3, "a/c": 3})
    (place / "link").symlink_to("a/b")
    for name in ("missing", "link", "a"):
        with pytest.raises(FolderError, match=f"^{name}: "):
            opened.get(name)
    with pytest.raises(FolderError, match=r"^a/b/c: Not a directory$"):
        opened.place("a/b/c", b"")
    for name in ("", "/etc/passwd", "a/../../x", "a\0b", ".canary"):
        for act in (opened.get, lambda name: opened.place(name, b"")):
            with pytest.raises(FolderError, match=r" is not a path in the scratch folder$"):
                act(name)
    with pytest.raises(FolderError, match=r"^there is no scratch folder; set scratch_limit_bytes$"):
        Folder().get("a")


def test_a_packed_folder_is_made_elsewhere(opened, place, tmp_path):
    fill(place)
    opened.end_block("word-1", is_mapped=False)
    (place / "late").write_text("late")
    packed = opened.pack()
    assert packed[0] == "word-1"
    other_place = tmp_path / "other"
    other_place.mkdir()
    other = Folder()
    other.open(str(other_place), 1000, keeps=True)
    (other_place / "gone").write_text("gone")
    other.unpack(packed)
    assert listed(other_place) == sorted([".canary", *(name for name in listed(place) if name != ".canary")])
    assert (other_place / "a" / "deep").read_text() == "deep"
    assert stat.S_IMODE((other_place / "file").stat().st_mode) == 0o640
    assert other.canary() == "word-1"


def test_a_template_notes_files_and_word(opened, place):
    (place / "file").write_text("file")
    opened._remember("word")
    template = Folder()
    template.path, template._limit_bytes = opened.path, 1000
    template.note()
    (place / "file").unlink()
    template.begin_block()
    assert opened.canary() is None
    template.restore()
    assert ((place / "file").read_text(), template.canary()) == ("file", "word")


def test_without_a_path_there_is_nothing():
    folder = Folder()
    folder.begin_block()
    assert folder.end_block("w", is_mapped=False) is None
    assert (folder.canary(), folder.restore(), folder.sizes()) == (None, {}, {})
    folder.note()
    folder.forget()
    assert folder.pack() == [None, []]


def test_a_warm_up_leaves_no_word(opened, place):
    opened.warm_up()
    assert (opened._word, listed(place)) == (None, [])


def test_inodes_are_those_of_files(opened, place):
    fill(place)
    opened.end_block("w", is_mapped=False)
    files = {(place / name).stat().st_ino for name in ("file", "a/deep")}
    assert opened.inodes() == files


def test_only_files_that_were_made_anew_have_moved(opened, place):
    for name in ("written", "removed"):
        (place / name).write_text("before")
    status = (place / "removed").stat()
    opened.end_block("w", is_mapped=False)
    (place / "written").write_text("after!")
    with (place / "removed").open():  # so that nothing else gets its inode
        (place / "removed").unlink()
        assert opened.restore() == {(status.st_dev, status.st_ino): str(place / "removed")}
    assert {name: (place / name).read_text() for name in ("written", "removed")} == {
        "written": "before",
        "removed": "before",
    }


def test_folder_whose_paths_are_too_long_is_made_anew(opened, place, monkeypatch):
    (place / "file").write_text("file")
    opened.end_block("w", is_mapped=False)
    (place / "made").write_text("made")
    signs = opened._signs

    def fail() -> None:
        monkeypatch.setattr(opened, "_signs", signs)
        raise OSError("File name too long")

    monkeypatch.setattr(opened, "_signs", fail)
    opened.restore()
    assert listed(place) == [".canary", "file"]
    assert (place / "file").read_text() == "file"


def test_place_is_kept_for_the_blocks_to_come(opened, place):
    opened.place("a/b", b"content")
    (place / "a" / "b").unlink()
    opened.restore()
    assert (place / "a" / "b").read_bytes() == b"content"
