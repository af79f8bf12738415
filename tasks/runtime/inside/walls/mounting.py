"""An episode's own file system, in memory, hidden from others."""

import ctypes
import os

from .confine import unshare_user

_libc = ctypes.CDLL(None, use_errno=True)
_NO_SUID = 2
_NO_DEVICES = 4
_NO_PROGRAMS = 8
_NO_ACCESS_TIMES = 1024
_SPARE_BYTES = 1 << 16
_SPARE_FILES = 16
"""Room for what the runtime itself leaves there."""
_GET_DUMPABLE = 3
_SET_DUMPABLE = 4


def unshare_with_mounts(processes: int) -> None:
    """Move to a user namespace with mounts, or raise `OSError`.

    `processes` is a descriptor of the host's `/proc`: the sandbox has none. Without a user that exists, no file can be
    made on a file system of the namespace.
    """
    was_dumpable = _libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0)
    user = os.geteuid()
    group = os.getegid()
    _libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # else its files in `/proc` are root's
    try:
        if not unshare_user(processes=True, mounts=True):
            raise OSError(ctypes.get_errno(), "no user namespace with mounts of its own")
        _write(processes, "self/setgroups", "deny")
        _write(processes, "self/uid_map", f"{user} {user} 1")
        _write(processes, "self/gid_map", f"{group} {group} 1")
    finally:
        _libc.prctl(_SET_DUMPABLE, was_dumpable, 0, 0, 0)


def mount_scratch(path: str, limit_bytes: int, file_count: int) -> None:
    """Mount an empty, limited file system; raise `OSError` if denied."""
    flags = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS | _NO_ACCESS_TIMES
    options = f"size={limit_bytes + _SPARE_BYTES},nr_inodes={file_count + _SPARE_FILES},mode=0700"
    if _libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount a scratch folder at {path}")


def _write(directory: int, path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY, dir_fd=directory)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
