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


Identity = tuple[int, int]
"""Device and inode: files of two file systems may have the same inode number."""


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
        self._named: dict[int, Identity] = {}
        """Files with a name, by descriptor."""
        self._nameless: dict[Identity, _Nameless] = {}

    def note(self, descriptors: Iterable[int], *, is_mapped: bool = False) -> list[int]:
        """Note what can be put back; return the other descriptors.

        A file that is mapped may have changed without a sign.
        """
        known = {} if is_mapped else self._nameless
        self._offsets = {}
        self._named = {}
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
                self._named[descriptor] = identity_of(status)
            elif _mode(descriptor) != os.O_RDONLY:
                left -= status.st_size
                if left < 0 or not self._keep(descriptor, status, known.get(identity_of(status))):
                    others.append(descriptor)
        return others

    def seek(self) -> None:
        """Put the offsets back."""
        for descriptor, offset in self._offsets.items():
            with contextlib.suppress(OSError):
                lseek(descriptor, offset, SEEK_SET)

    def put_back(self, moved: Mapping[Identity, str], *, is_mapped: bool = False) -> dict[Identity, int]:
        """Put contents and offsets back, with the new path of each `moved` file.

        Return a descriptor of each file whose mappings must follow it, by the file's former identity.
        """
        followed = {}
        for descriptor, identity in self._named.items():
            if identity in moved and has_identity(descriptor, identity):
                _open_anew(descriptor, moved[identity])
                self._named[descriptor] = identity_of(fstat(descriptor))
                if _mode(descriptor) == os.O_RDWR:  # what shared memory needs
                    followed[identity] = descriptor
        for identity, kept in self._nameless.items():
            if not has_identity(kept.descriptor, identity):
                continue
            if _has_changed(kept, is_mapped=is_mapped):
                _write_over(kept.descriptor, kept.content)
                self._nameless[identity] = kept._replace(sign=_sign(fstat(kept.descriptor)))
            followed[identity] = kept.descriptor
        self.seek()
        return followed

    def is_empty(self) -> bool:
        """Tell whether nothing is noted."""
        return not self._offsets

    def _keep(self, descriptor: int, status: os.stat_result, known: _Nameless | None) -> bool:
        """Keep a nameless file's content; tell whether it can be read."""
        identity = identity_of(status)
        if identity in self._nameless:
            return True
        sign = _sign(status)
        if known is not None and known.sign == sign:
            self._nameless[identity] = known._replace(descriptor=descriptor)
            return True
        content = _read(descriptor, status.st_size)
        if content is None:
            return False
        self._nameless[identity] = _Nameless(descriptor, sign, content)
        return True


def identity_of(status: os.stat_result) -> Identity:
    """Return the identity of a file's status."""
    return status.st_dev, status.st_ino


def has_identity(descriptor: int, identity: Identity) -> bool:
    """Tell whether a descriptor is open and leads to that file: a thread may have closed it since."""
    try:
        return identity_of(fstat(descriptor)) == identity
    except OSError:
        return False


def _offset(descriptor: int, status: os.stat_result) -> int | None:
    """Return an open file's offset; None for what has none."""
    if stat.S_IFMT(status.st_mode) == 0:  # an eventfd or epoll: lseek succeeds, but means nothing
        return None
    try:
        return lseek(descriptor, 0, SEEK_CUR)
    except OSError:
        return None


def _mode(descriptor: int) -> int:
    return fcntl(descriptor, F_GETFL) & os.O_ACCMODE


def _sign(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _has_changed(kept: _Nameless, *, is_mapped: bool) -> bool:
    status = fstat(kept.descriptor)
    return _sign(status) != kept.sign or (is_mapped and _read(kept.descriptor, status.st_size) != kept.content)


def _read(descriptor: int, size: int) -> bytes | None:
    """Return a file's content; None if it is open for writing only, or exceeds the memory."""
    parts = []
    done = 0
    try:
        while done < size:
            part = pread(descriptor, size - done, done)
            if not part:
                break
            parts.append(part)
            done += len(part)
        return b"".join(parts)
    except (OSError, MemoryError):
        return None


def _write_over(descriptor: int, content: bytes) -> None:
    ftruncate(descriptor, 0)
    done = 0
    while done < len(content):
        done += pwrite(descriptor, content[done:], done)


def _open_anew(descriptor: int, path: str) -> None:
    """Open a path in a descriptor's place, as that was opened."""
    flags = fcntl(descriptor, F_GETFL) & ~_CREATING
    opened = open_file(path, flags | os.O_CLOEXEC)
    try:
        dup2(opened, descriptor, inheritable=False)
    finally:
        close(opened)
