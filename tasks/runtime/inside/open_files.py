"""Open files that a fork shares: their offsets, and contents that no path leads to.

A process that goes on puts them back after the scratch folder, which may have made a file anew.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from fcntl import F_GETFL, fcntl
from os import (  # references of our own: a block may rebind what a module holds
    SEEK_CUR,
    SEEK_SET,
    close,
    dup2,
    fstat,
    ftruncate,
    lseek,
    pread,
    pwrite,
)
from os import open as open_file
from typing import NamedTuple

_SIZE_LIMIT = 256 << 20
"""Bytes of files without a name that are noted."""
_CREATING = os.O_CREAT | os.O_EXCL | os.O_TRUNC | getattr(os, "O_TMPFILE", 0)


class _Nameless(NamedTuple):
    """Content of a file that was removed, or never had a name."""

    descriptor: int
    sign: tuple[int, int, int]
    """Changes when the content does."""
    content: bytes


class OpenFiles:
    """Open files, as they were noted."""

    def __init__(self) -> None:
        self._offsets: dict[int, int] = {}
        self._inodes: dict[int, int] = {}
        """Of files with a name, by descriptor."""
        self._nameless: dict[int, _Nameless] = {}
        """By inode."""

    def note(self, descriptors: Iterable[int]) -> list[int]:
        """Note what can be put back; return the other descriptors."""
        known = self._nameless
        self._offsets = {}
        self._inodes = {}
        self._nameless = {}
        left = _SIZE_LIMIT
        others = []
        for descriptor in descriptors:
            status = fstat(descriptor)
            offset = _offset(descriptor, status)
            if offset is None:
                others.append(descriptor)
                continue
            self._offsets[descriptor] = offset
            if not stat.S_ISREG(status.st_mode):
                continue
            if status.st_nlink:
                self._inodes[descriptor] = status.st_ino
            elif _can_change(descriptor):
                left -= status.st_size
                if left < 0 or not self._keep(descriptor, status, known.get(status.st_ino)):
                    others.append(descriptor)
        return others

    def seek(self) -> None:
        """Put the offsets back."""
        for descriptor, offset in self._offsets.items():
            with contextlib.suppress(OSError):
                lseek(descriptor, offset, SEEK_SET)

    def put_back(self, moved: Mapping[int, str]) -> None:
        """Put contents and offsets back, with the new path of each `moved` inode."""
        for descriptor, inode in self._inodes.items():
            if inode in moved:
                self._inodes[descriptor] = _open_anew(descriptor, moved[inode])
        for inode, kept in self._nameless.items():
            if _sign(fstat(kept.descriptor)) != kept.sign:
                _write_over(kept.descriptor, kept.content)
                self._nameless[inode] = kept._replace(sign=_sign(fstat(kept.descriptor)))
        self.seek()

    def is_empty(self) -> bool:
        """Tell whether nothing is noted."""
        return not self._offsets

    def _keep(self, descriptor: int, status: os.stat_result, known: _Nameless | None) -> bool:
        """Keep a nameless file's content; tell whether it can be read."""
        if status.st_ino in self._nameless:
            return True
        sign = _sign(status)
        if known is not None and known.sign == sign:
            self._nameless[status.st_ino] = known._replace(descriptor=descriptor)
            return True
        content = _read(descriptor, status.st_size)
        if content is None:
            return False
        self._nameless[status.st_ino] = _Nameless(descriptor, sign, content)
        return True


def _offset(descriptor: int, status: os.stat_result) -> int | None:
    """Return an open file's offset; None for what has none."""
    if stat.S_IFMT(status.st_mode) == 0:  # an eventfd's or a poll's: it says 0 to whoever asks
        return None
    try:
        return lseek(descriptor, 0, SEEK_CUR)
    except OSError:
        return None


def _can_change(descriptor: int) -> bool:
    return fcntl(descriptor, F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _sign(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(descriptor: int, size: int) -> bytes | None:
    """Return a file's content; None for one that is open for writing only."""
    parts = []
    done = 0
    try:
        while done < size:
            part = pread(descriptor, size - done, done)
            if not part:
                break
            parts.append(part)
            done += len(part)
    except OSError:
        return None
    return b"".join(parts)


def _write_over(descriptor: int, content: bytes) -> None:
    ftruncate(descriptor, 0)
    done = 0
    while done < len(content):
        done += pwrite(descriptor, content[done:], done)


def _open_anew(descriptor: int, path: str) -> int:
    """Open a path in a descriptor's place, as that was opened; return the inode."""
    flags = fcntl(descriptor, F_GETFL) & ~_CREATING
    opened = open_file(path, flags | os.O_CLOEXEC)
    try:
        dup2(opened, descriptor, inheritable=False)
        return fstat(descriptor).st_ino
    finally:
        close(opened)
