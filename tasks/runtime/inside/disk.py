# ruff: noqa: PTH106, PTH104, PTH109, PTH108 - pathlib stays out of the sandbox
"""A folder on disk: listed, read, written and emptied by references of our own."""

import contextlib
import os
import stat
from os import (  # a block may rebind what a module holds
    chdir,
    close,
    getcwd,
    lstat,
    read,
    rename,
    rmdir,
    scandir,
    unlink,
    urandom,
    write,
)
from os import open as open_file

Signs = dict[str, tuple[int, tuple[int, ...]]]
"""Kind and sign by name; the sign of a file differs once it has been written."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK_BYTES = 1 << 20


def signs_in(folder: str) -> Signs:
    """Return kind and sign of everything below a folder, directories first."""
    found: Signs = {}
    waiting = [""]
    for above in waiting:
        for name in [f"{above}{name}" for name in names_in(f"{folder}/{above}")]:
            status = lstat(f"{folder}/{name}")
            kind = stat.S_IFMT(status.st_mode)
            found[name] = kind, sign_of(status)
            if kind == stat.S_IFDIR:
                waiting.append(f"{name}/")
    return found


def sign_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the sign of a file, or a directory's, which is its mode alone."""
    if stat.S_IFMT(status.st_mode) == stat.S_IFDIR:
        return 0, 0, status.st_mode
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def empty(folder: str) -> None:
    """Remove all by short paths: what a directory holds moves up first."""
    moved = 0
    mark = urandom(8).hex()
    while found := names_in(folder):
        for name in found:
            path = f"{folder}/{name}"
            if stat.S_IFMT(lstat(path).st_mode) != stat.S_IFDIR:
                unlink(path)
                continue
            for inner in names_in(path):
                moved += 1
                rename(f"{path}/{inner}", f"{folder}/{mark}-{moved}")
            rmdir(path)


def remove(path: str, kind: int) -> None:
    """Remove an empty directory, or anything else."""
    if kind == stat.S_IFDIR:
        rmdir(path)
    else:
        unlink(path)


def unlink_if_there(path: str) -> None:
    """Remove a file or link, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        unlink(path)


def read_file(path: str) -> bytes:
    """Return a file's content, following no link."""
    descriptor = open_file(path, _READ)
    try:
        parts = []
        while part := read(descriptor, _CHUNK_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        close(descriptor)


def write_file(path: str, content: bytes, mode: int) -> None:
    """Write a file, following no link."""
    descriptor = open_file(path, _WRITE, mode)
    try:
        left = memoryview(content)
        while left:
            left = left[write(descriptor, left) :]
    finally:
        close(descriptor)


def names_in(path: str) -> list[str]:
    """Return the names in a directory."""
    with scandir(path) as entries:
        return [entry.name for entry in entries]


def working_directory() -> str | None:
    """Return where the process is; null for a removed directory."""
    try:
        return getcwd()
    except OSError:
        return None


def go_to(wanted: str | None, otherwise: str) -> None:
    """Change to a directory, or to another where it is gone."""
    try:
        chdir(wanted or otherwise)
    except OSError:
        chdir(otherwise)
