# ruff: noqa: PTH102, PTH106, PTH104, PTH109, PTH108, PTH115, PTH211 - pathlib stays out of the sandbox
"""The scratch folder: its files, and their image in memory.

Memory is what a fork copies, so a frozen process holds the files of its moment: it puts them back when it goes on.
"""

import contextlib
import os
import stat
import sys
from os import (  # references of our own: a block may rebind what a module holds
    chdir,
    close,
    getcwd,
    lstat,
    mkdir,
    mkfifo,
    read,
    readlink,
    rename,
    rmdir,
    scandir,
    symlink,
    unlink,
    urandom,
    write,
)
from os import open as open_file
from typing import Any, NamedTuple

from .open_files import Identity

FILE_COUNT_LIMIT = 4096
_CANARY = ".canary"
"""A symbolic link to the word, made and read by one call each; it is there between two blocks only."""
_WARM_UP_RUNS = 10
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK_BYTES = 1 << 20


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
        if found := _names_in(path):
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
        here = _working_directory()
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
        _go_to(here, self.path)
        return moved

    def _remove_others(self, present: dict[str, tuple[int, tuple[int, ...]]]) -> None:
        """Remove what the image does not have, or has as another kind."""
        for name in sorted(present, reverse=True):  # what a directory holds comes before it
            wanted = self._image.get(name)
            if wanted is None or wanted.kind != present[name][0]:
                self._remove(name, present.pop(name)[0])

    def _readable_signs(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Return the files' signs, emptying an unreadable folder first."""
        try:
            return self._signs()
        except OSError:  # a block has made paths that are too long
            self._empty()
            return {}

    def forget(self) -> None:
        """Empty a folder that forgets, but for the host's files."""
        if self.path is None or self._keeps:
            return
        self._empty()
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
            return self._read(name)
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
            self._write(name, content, 0o644)
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
            return self._read(name)
        if kind == stat.S_IFLNK:
            return readlink(f"{self.path}/{name}").encode("utf-8", "surrogateescape")
        return b""

    def _signs(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Return kind and sign of everything by name, directories first."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        waiting = [""]
        for above in waiting:
            for name in [f"{above}{name}" for name in _names_in(f"{self.path}/{above}")]:
                status = lstat(f"{self.path}/{name}")
                kind = stat.S_IFMT(status.st_mode)
                if name == _CANARY and kind == stat.S_IFLNK:
                    continue
                if kind == stat.S_IFDIR:
                    found[name] = kind, (0, 0, status.st_mode)
                    waiting.append(f"{name}/")
                else:
                    times = status.st_mtime_ns, status.st_ctime_ns
                    found[name] = kind, (status.st_ino, status.st_size, *times, status.st_mode)
        return found

    def _make(self, name: str, entry: Entry) -> Entry:
        """Make something as noted; return its new note."""
        path = f"{self.path}/{name}"
        if entry.kind == stat.S_IFREG:
            self._write(name, entry.content, stat.S_IMODE(entry.mode))
        elif entry.kind == stat.S_IFDIR:
            try:
                mkdir(path, stat.S_IMODE(entry.mode))
            except FileExistsError:
                return entry
        elif entry.kind == stat.S_IFLNK:
            self._unlink(path)
            symlink(entry.content.decode("utf-8", "surrogateescape"), path)
        elif entry.kind == stat.S_IFIFO:
            self._unlink(path)
            mkfifo(path)
        status = lstat(path)
        sign = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode
        return entry._replace(sign=(0, 0, status.st_mode) if entry.kind == stat.S_IFDIR else sign)

    def _empty(self) -> None:
        """Remove all by short paths: what a directory holds moves up first."""
        moved = 0
        mark = urandom(8).hex()
        while found := _names_in(f"{self.path}"):
            for name in found:
                path = f"{self.path}/{name}"
                if stat.S_IFMT(lstat(path).st_mode) != stat.S_IFDIR:
                    unlink(path)
                    continue
                for inner in _names_in(path):
                    moved += 1
                    rename(f"{path}/{inner}", f"{self.path}/{mark}-{moved}")
                rmdir(path)

    def _has_changed(self, name: str, entry: Entry) -> bool:
        return entry.kind == stat.S_IFREG and self._read(name) != entry.content

    def _remove(self, name: str, kind: int) -> None:
        path = f"{self.path}/{name}"
        if kind == stat.S_IFDIR:
            rmdir(path)
        else:
            unlink(path)

    def _unlink(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            unlink(path)

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
            self._unlink(f"{self.path}/{_CANARY}")
        except IsADirectoryError:  # a block has made it, and it goes with what else the block has made
            return

    def _read(self, name: str) -> bytes:
        descriptor = open_file(f"{self.path}/{name}", _READ)
        try:
            parts = []
            while part := read(descriptor, _CHUNK_BYTES):
                parts.append(part)
            return b"".join(parts)
        finally:
            close(descriptor)

    def _write(self, name: str, content: bytes, mode: int) -> None:
        descriptor = open_file(f"{self.path}/{name}", _WRITE, mode)
        try:
            left = memoryview(content)
            while left:
                left = left[write(descriptor, left) :]
        finally:
            close(descriptor)


def _is_another_file(noted: Entry, made: Entry) -> bool:
    """Tell whether a file was made anew, with another inode than the noted one."""
    return noted.kind == stat.S_IFREG and bool(noted.sign) and noted.sign[0] != made.sign[0]


def _names_in(path: str) -> list[str]:
    with scandir(path) as entries:
        return [entry.name for entry in entries]


def _working_directory() -> str | None:
    """Return where the process is; null for a removed directory."""
    try:
        return getcwd()
    except OSError:
        return None


def _go_to(wanted: str | None, otherwise: str) -> None:
    """Change to a directory, or to another where it is gone."""
    try:
        chdir(wanted or otherwise)
    except OSError:
        chdir(otherwise)
