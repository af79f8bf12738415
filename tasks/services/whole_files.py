"""Files that processes share: whole, locked and digested."""

import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
"""Ends the name of a file or folder that is still being written."""
LOOK_SECONDS = 0.1
"""Pause between two looks at a lock that another process holds."""
_HERE = -100
"""`AT_FDCWD` of `fcntl.h`."""
_RENAME_EXCHANGE = 2


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside the file `path`.

    It becomes `path` when the block ends, or goes when it raises. Raise `FileNotFoundError` without its folder.
    """
    if not path.parent.is_dir():  # by the name that the caller gave
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    with _temporary(path) as temporary:
        yield temporary
        temporary.replace(path)


@contextmanager
def folder_written_whole(folder: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`.

    It becomes `folder` when the block ends, or goes when it raises.

    Processes that make the same folder at once do not disturb each other: the first one's stays, the others' go. With
    `replaces` the last one's stays, and at no moment is there none. Where a file system cannot exchange folders, there
    is none for a moment, and a process that another one overtakes in it raises `OSError`.
    """
    with _temporary(folder) as temporary:
        yield temporary
        try:
            temporary.rename(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if replaces:
                _exchange(temporary, folder)
            shutil.rmtree(temporary)


@contextmanager
def folder_filled_whole(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files move to `folder` at the end.

    They go where the block raises. It lies in a folder that is there, which may be another file system than what is
    around it.
    """
    place = folder / folder.name if folder.exists() else folder
    with _temporary(place) as temporary:
        temporary.mkdir(parents=True)
        yield temporary
        if not folder.exists():
            temporary.rename(folder)
            return
        for file in sorted(temporary.rglob("*")):
            target = folder / file.relative_to(temporary)
            if file.is_dir():
                target.mkdir(exist_ok=True)
            else:
                file.replace(target)
        shutil.rmtree(temporary)


def _exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if not libc.renameat2(_HERE, os.fsencode(one.absolute()), _HERE, os.fsencode(other.absolute()), _RENAME_EXCHANGE):
        return
    number = ctypes.get_errno()
    if number != errno.EINVAL:
        raise OSError(number, os.strerror(number), str(other))
    # NFS knows no exchange.
    aside = one.with_name(f"{one.name}{TEMPORARY_SUFFIX}")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        if other.exists():  # another process was quicker, and its folder stays
            shutil.rmtree(aside)
        else:
            aside.rename(other)
        raise
    aside.rename(one)


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    # Every writer has its own: two processes may write the same file at the same time.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        yield temporary
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(temporary) if temporary.is_dir() else temporary.unlink()
        raise


def write_whole(path: Path, content: str | bytes | memoryview) -> None:
    """Write a file durably: after a crash it is old or new.

    Its folders are made, too.
    """
    _make_folder(path.parent)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


@contextmanager
def file_lock(path: Path) -> Iterator[str | None]:
    """Hold a lock file and yield `None`, or the other holder.

    The system frees the lock when its holder ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            yield file.read() or "another process"
            return
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        file.flush()
        yield None


@contextmanager
def file_lock_when_free(path: Path, check: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold a lock file, once no other process holds it.

    `check` gets the holder at every look, and may raise.
    """
    while True:
        with file_lock(path) as holder:
            if holder is None:
                yield
                return
        check(holder)
        time.sleep(LOOK_SECONDS)


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    # A name is durable only once its folder is.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
