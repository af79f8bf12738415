# ruff: noqa: PTH102, PTH108, PTH115, PTH211 - pathlib stays out of the sandbox
"""The scratch folder: its files, and their image in memory.

Memory is what a fork copies, so a frozen process holds the files of its moment: it puts them back when it goes on.
"""

import contextlib
import os
import stat
import sys
from os import chdir, lstat, mkdir, mkfifo, readlink, symlink, unlink  # own references: a block may rebind others
from typing import Any, NamedTuple

from .disk import (
    Signs,
    empty,
    go_to,
    names_in,
    read_file,
    remove,
    sign_of,
    signs_in,
    unlink_if_there,
    working_directory,
    write_file,
)
from .open_files import Identity

FILE_COUNT_LIMIT = 4096
_CANARY = ".canary"
"""A symbolic link to the word, made and read by one call each; it is there between two blocks only."""
_WARM_UP_RUNS = 10


class FolderError(Exception):
    """A file cannot be put or read."""


class Entry(NamedTuple):
    """Something in the folder, as it was noted."""

    kind: int
    """File type bits of its mode."""
    sign: tuple[int, ...]
    """Changes when its content does."""
    mode: int
    content: bytes
    """Of a file; of a symbolic link, its target."""


class Folder:
    """A folder on disk with its image; nothing without a path."""

    def __init__(self) -> None:
        self.path: str | None = None
        self._keeps = True
        self._limit_bytes = 0
        self._image: dict[str, Entry] = {}
        self._has_canary = False
        self._word: str | None = None
        """Word of the last block, as the image has it."""
        self._placed: dict[str, bytes] = {}
        """Files that the host has put there for all blocks to come."""

    def open(self, path: str, limit_bytes: int, *, keeps: bool) -> None:
        """Use an empty folder as home, working directory, temporary files' place.

        Raise `FolderError` for one that holds anything: what a folder holds is removed when a block is undone.
        """
        if found := names_in(path):
            raise FolderError(f"{path} is not empty, it holds {found[0]!r}: not a new scratch folder")
        self.path = path
        self._limit_bytes = limit_bytes
        self._keeps = keeps
        os.environ["HOME"] = os.environ["TMPDIR"] = path
        os.environ["USER"] = "agent"
        chdir(path)

    def make_importable(self) -> None:
        """Let blocks import modules from the working directory.

        Not for a template process: it would import what blocks have written.
        """
        if self.path is not None:
            sys.path.insert(0, "")

    def warm_up(self) -> None:
        """Do what each block's process does, so that forks share memory."""
        for _ in range(_WARM_UP_RUNS):
            self.end_block("0", is_mapped=False)
            self.canary()
            self.begin_block()
        self._word = None

    def begin_block(self) -> None:
        """Hide from a block how the folder remembers the last one."""
        if self.path is not None and self._has_canary:
            self._remove_canary()

    def end_block(self, canary: str, *, is_mapped: bool) -> str | None:
        """Note a block's files and word; return the problem, if any.

        A file that is mapped may have changed without a sign.
        """
        if self.path is None:
            return None
        try:
            if is_mapped:
                self._image = {}
            self._note()
            self._remember(canary)
        except (OSError, FolderError, MemoryError):
            return "folder"
        return None

    def canary(self) -> str | None:
        """Return the folder's word of the last block, or None."""
        if self.path is None:
            return None
        try:
            return readlink(f"{self.path}/{_CANARY}")
        except OSError:
            return None

    def note(self) -> None:
        """Take everything into the image, in a process without blocks."""
        if self.path is not None and self._keeps:
            self._note()
            self._word = self.canary()
            self._has_canary = self._word is not None

    def restore(self, *, is_mapped: bool = False) -> dict[Identity, str]:
        """Make the folder what the image says, or empty one that forgets; return moved files.

        Those are paths of files that were made anew, by former identity. A mapped file may have changed without a sign.
        """
        moved: dict[Identity, str] = {}
        if self.path is None or not self._keeps:
            self.forget()
            return moved
        here = working_directory()
        self._remove_canary()
        present = self._readable_signs()
        self._remove_others(present)
        for name in sorted(self._image):
            entry = self._image[name]
            is_same = present.get(name) == (entry.kind, entry.sign)
            if not is_same or (is_mapped and self._has_changed(name, entry)):
                made = self._make(name, entry)
                self._image[name] = made
                if _is_another_file(entry, made):
                    path = f"{self.path}/{name}"
                    moved[lstat(path).st_dev, entry.sign[0]] = path
        if self._word is not None:
            self._remember(self._word)
        go_to(here, self.path)
        return moved

    def _remove_others(self, present: Signs) -> None:
        """Remove what the image does not have, or has as another kind."""
        for name in sorted(present, reverse=True):  # what a directory holds comes before it
            wanted = self._image.get(name)
            if wanted is None or wanted.kind != present[name][0]:
                remove(f"{self.path}/{name}", present.pop(name)[0])

    def _readable_signs(self) -> Signs:
        """Return the files' signs, emptying an unreadable folder first."""
        try:
            return self._signs()
        except OSError:  # a block has made paths that are too long
            empty(f"{self.path}")
            return {}

    def forget(self) -> None:
        """Empty a folder that forgets, but for the host's files."""
        if self.path is None or self._keeps:
            return
        empty(self.path)
        chdir(self.path)
        for name, content in self._placed.items():
            self._place(name, content)

    def place(self, name: str, content: bytes) -> None:
        """Put a file there for all blocks to come.

        Raise `FolderError` for a name that leads elsewhere.
        """
        self._require(name)
        self._placed[name] = content
        self._place(name, content)
        self._note()

    def get(self, name: str) -> bytes:
        """Return a file's content; raise `FolderError` if there is none."""
        self._require(name)
        try:
            return read_file(f"{self.path}/{name}")
        except OSError as error:
            raise FolderError(f"{name}: {error.strerror}") from error

    def inodes(self) -> frozenset[int]:
        """Return the inodes of the files in the image."""
        return frozenset(entry.sign[0] for entry in self._image.values() if entry.kind == stat.S_IFREG)

    def sizes(self) -> dict[str, int]:
        """Return the size of each file by its name."""
        if self.path is None:
            return {}
        return {name: sign[1] for name, (kind, sign) in self._signs().items() if kind == stat.S_IFREG}

    def pack(self) -> list[Any]:
        """Return the last block's word and the files, as plain data."""
        if self.path is not None:
            self._image = self._look()
        files = [[name, entry.kind, entry.mode, entry.content] for name, entry in self._image.items()]
        return [self.canary(), files]

    def unpack(self, packed: list[Any]) -> None:
        """Make the folder what was packed."""
        self._word, files = packed
        self._image = {name: Entry(kind, (), mode, content) for name, kind, mode, content in files}
        self.restore()

    def _require(self, name: str) -> None:
        parts = name.split("/")
        if self.path is None:
            raise FolderError("there is no scratch folder; set scratch_limit_bytes")
        if not name or name.startswith("/") or ".." in parts or "\0" in name or name == _CANARY:
            raise FolderError(f"{name!r:.100} is not a path in the scratch folder")

    def _place(self, name: str, content: bytes) -> None:
        above = ""
        for part in name.split("/")[:-1]:
            above = f"{above}{part}/"
            with contextlib.suppress(FileExistsError):
                mkdir(f"{self.path}/{above}")
        try:
            write_file(f"{self.path}/{name}", content, 0o644)
        except OSError as error:
            raise FolderError(f"{name}: {error.strerror}") from error

    def _note(self) -> None:
        """Take the folder's content into the image where it outlives a block."""
        if self._keeps:
            self._image = self._look()

    def _look(self) -> dict[str, Entry]:
        """Return the folder's content, reading changed files alone."""
        found: dict[str, Entry] = {}
        size = 0
        for name, (kind, sign) in self._signs().items():
            size += sign[1] if kind == stat.S_IFREG else 0
            if size > self._limit_bytes or len(found) > FILE_COUNT_LIMIT:
                raise FolderError("too many or too large files")
            known = self._image.get(name)
            if known is not None and (known.kind, known.sign) == (kind, sign):
                found[name] = known
            else:
                found[name] = Entry(kind, sign, sign[-1], self._content(name, kind))
        return found

    def _content(self, name: str, kind: int) -> bytes:
        if kind == stat.S_IFREG:
            return read_file(f"{self.path}/{name}")
        if kind == stat.S_IFLNK:
            return readlink(f"{self.path}/{name}").encode("utf-8", "surrogateescape")
        return b""

    def _signs(self) -> Signs:
        """Return kind and sign of everything but the canary, by name, directories first."""
        found = signs_in(f"{self.path}")
        if _CANARY in found and found[_CANARY][0] == stat.S_IFLNK:
            del found[_CANARY]
        return found

    def _make(self, name: str, entry: Entry) -> Entry:
        """Make something as noted; return its new note."""
        path = f"{self.path}/{name}"
        if entry.kind == stat.S_IFREG:
            write_file(path, entry.content, stat.S_IMODE(entry.mode))
        elif entry.kind == stat.S_IFDIR:
            try:
                mkdir(path, stat.S_IMODE(entry.mode))
            except FileExistsError:
                return entry
        elif entry.kind == stat.S_IFLNK:
            unlink_if_there(path)
            symlink(entry.content.decode("utf-8", "surrogateescape"), path)
        elif entry.kind == stat.S_IFIFO:
            unlink_if_there(path)
            mkfifo(path)
        return entry._replace(sign=sign_of(lstat(path)))

    def _has_changed(self, name: str, entry: Entry) -> bool:
        return entry.kind == stat.S_IFREG and read_file(f"{self.path}/{name}") != entry.content

    def _remember(self, word: str) -> None:
        path = f"{self.path}/{_CANARY}"
        self._has_canary = True
        self._word = word
        try:
            symlink(word, path)
        except FileExistsError:  # a block's
            unlink(path)
            symlink(word, path)

    def _remove_canary(self) -> None:
        self._has_canary = False
        try:
            unlink_if_there(f"{self.path}/{_CANARY}")
        except IsADirectoryError:  # a block has made it, and it goes with what else the block has made
            return


def _is_another_file(noted: Entry, made: Entry) -> bool:
    """Tell whether a file was made anew, with another inode than the noted one."""
    return noted.kind == stat.S_IFREG and bool(noted.sign) and noted.sign[0] != made.sign[0]
